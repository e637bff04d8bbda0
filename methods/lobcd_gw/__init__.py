"""LoBCD-GW: localised block coordinate descent for Gromov-Wasserstein alignment."""
