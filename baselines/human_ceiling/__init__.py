"""Control: the raters themselves."""
