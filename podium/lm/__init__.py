"""Language models as judges: local ones, and whatever lm-eval's registry holds."""
