"""Component-wise multilayer perceptrons with a group lasso (Neural-GC)."""
