"""Entropic projected gradient by POT."""
