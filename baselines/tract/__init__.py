"""Two-stage regression-aware fine-tuning with reasoning (TRACT)."""
