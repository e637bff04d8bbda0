"""Flow matching on the generated pictures of the highest distribution-wise reward."""
