"""Generalised category discovery: the samples of a problem, and methods that train nothing."""
