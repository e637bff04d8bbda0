"""Baselines and controls: one folder each, with entry.toml and method.py."""
