"""The papers' methods: one folder each, with entry.toml and method.py."""
