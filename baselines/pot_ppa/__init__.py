"""Proximal point by POT."""
