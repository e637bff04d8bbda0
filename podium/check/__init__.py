"""Conformance checks that ship with the engine: what every task and every entry must hold to."""
