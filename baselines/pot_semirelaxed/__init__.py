"""Semi-relaxed Gromov-Wasserstein by POT."""
