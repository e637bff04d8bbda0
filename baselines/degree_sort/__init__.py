"""Control: nodes matched in the order of their degrees."""
