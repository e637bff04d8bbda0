"""Fixed averages of checkpoints."""
