"""From a command to a list of runs with digest keys."""
