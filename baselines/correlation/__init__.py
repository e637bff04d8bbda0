"""Control: lagged correlation."""
