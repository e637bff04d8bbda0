"""The rules of VADER."""
