"""Runs in processes of their own, under limits."""
