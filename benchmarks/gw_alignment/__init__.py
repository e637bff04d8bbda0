"""GW alignment: match the nodes of two graphs, or the points of two clouds, by their structure."""
