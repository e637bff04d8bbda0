"""Low-rank Gromov-Wasserstein by POT."""
