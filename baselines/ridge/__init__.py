"""Ridge regression on frozen embeddings."""
