"""Regression-aware reinforcement learning of judges (REAL)."""
