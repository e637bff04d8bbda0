"""Semi-supervised k-means, on features that nothing was trained for."""
