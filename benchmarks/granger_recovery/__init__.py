"""Granger recovery: which variable drives which, from multivariate time series."""
