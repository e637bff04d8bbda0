"""Judge correlation: automatic judges' scores against people's."""
