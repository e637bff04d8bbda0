"""Conditional gradient on heat kernels."""
