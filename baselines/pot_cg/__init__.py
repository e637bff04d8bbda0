"""Conditional gradient by POT."""
