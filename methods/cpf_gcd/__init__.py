"""Compositional primitive fields for category discovery (CPF-GCD)."""
