"""Control: the middle of the scale."""
