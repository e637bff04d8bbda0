"""Starting points for new methods, filled in from a task's contract."""
