"""Which tasks and entries there are, found without importing them."""
