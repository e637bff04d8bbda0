"""Rewards of generated pictures, and updates of a generator towards them."""
