"""Cross-entropy on the rounded ratings."""
