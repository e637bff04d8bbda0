"""Category discovery: name the samples of known classes, group those of unknown ones."""
