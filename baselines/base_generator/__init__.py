"""Control: the base generator as it is."""
