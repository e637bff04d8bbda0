"""PCMCI with partial correlation."""
