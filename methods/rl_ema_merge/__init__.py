"""Weights of a merge of checkpoints, learned by distribution-wise rewards."""
