"""Files that problems are built from: local folder, cache, package, pinned address."""
