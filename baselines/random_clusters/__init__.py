"""Control: clusters drawn at random."""
