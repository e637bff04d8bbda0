"""Templates behind `podium new`."""
