"""Control: training pictures handed in as samples."""
