"""Judges: what they are given, what they answer, and how an answer is read."""
