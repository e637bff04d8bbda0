"""Building blocks that more than one entry trains."""
