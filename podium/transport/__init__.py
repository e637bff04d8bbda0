"""Gromov-Wasserstein solvers, what they read and where they start."""
