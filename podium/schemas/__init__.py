"""Published JSON Schemas of the declarations and of a record."""
