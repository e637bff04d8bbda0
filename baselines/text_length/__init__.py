"""Control: the length of the text."""
