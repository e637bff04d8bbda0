"""The networks of the neural entries without a penalty."""
