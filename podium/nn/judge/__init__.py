"""A judge that writes latent reasoning before its score, and ways to train it."""
