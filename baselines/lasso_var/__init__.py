"""A vector autoregression with a lasso penalty."""
