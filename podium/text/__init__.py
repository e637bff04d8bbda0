"""Frozen text encoders."""
