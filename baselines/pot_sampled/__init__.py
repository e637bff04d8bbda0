"""Sampled Gromov-Wasserstein by POT."""
