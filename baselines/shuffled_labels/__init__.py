"""Control: ridge regression on shuffled scores."""
