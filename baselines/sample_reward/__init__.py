"""Rewards of single pictures by the same optimiser as distribution-wise ones."""
