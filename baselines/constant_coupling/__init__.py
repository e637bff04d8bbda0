"""Control: the product of the weights."""
