"""Fast approximate quadratic programming by scipy."""
