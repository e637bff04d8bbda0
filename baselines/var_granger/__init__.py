"""Granger's F-test of every pair in one vector autoregression."""
