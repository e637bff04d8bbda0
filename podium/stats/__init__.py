"""Intervals, paired comparisons and verdicts."""
