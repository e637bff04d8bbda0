"""The conformance checks for tasks and entries."""
