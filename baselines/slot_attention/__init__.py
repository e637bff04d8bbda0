"""Slot attention as a module before SimGCD's head."""
