"""Control: scores drawn at random."""
