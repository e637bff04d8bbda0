"""Regression-aware fine-tuning (RAFT)."""
