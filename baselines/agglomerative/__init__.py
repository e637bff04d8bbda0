"""Agglomerative clustering, on features that nothing was trained for."""
