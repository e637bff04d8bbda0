"""Records on disk, and what they say of where they came from."""
