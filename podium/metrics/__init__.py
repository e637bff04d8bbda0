"""Metrics: arrays in, one float out."""
