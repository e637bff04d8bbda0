"""FID-50K: generate pictures whose distribution is that of held-out ones."""
