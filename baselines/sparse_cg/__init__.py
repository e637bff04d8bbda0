"""Conditional gradient with sparse products."""
