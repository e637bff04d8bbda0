"""The single checkpoint that is best on the reward split."""
