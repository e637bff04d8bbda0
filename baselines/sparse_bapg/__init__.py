"""BAPG with sparse products."""
