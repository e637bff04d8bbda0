"""Bregman alternating projected gradient by POT."""
