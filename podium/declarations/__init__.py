"""What tasks, entries and suites declare in TOML."""
