"""Frozen image encoders: pictures in, features out."""
