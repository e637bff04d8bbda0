"""The tasks: one folder each, with task.toml, task.py and card.md."""
