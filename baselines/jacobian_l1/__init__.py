"""Neural Granger causality with the L1 norm of the Jacobian as penalty."""
