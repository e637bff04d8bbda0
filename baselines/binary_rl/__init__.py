"""Group-relative policy gradients with a reward of 1 for the right level."""
