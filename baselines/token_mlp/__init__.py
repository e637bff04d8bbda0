"""The control of CPF-GCD: a token MLP with as many parameters."""
