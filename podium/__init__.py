"""Podium: each paper's claim as a benchmark anyone can run."""

__version__ = "0.1.0"
