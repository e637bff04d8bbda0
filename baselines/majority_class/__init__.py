"""Control: every sample in one cluster."""
