"""Jacobian-regularised neural Granger causality (JRNGC)."""
