"""The full-step twin of LoBCD-GW."""
