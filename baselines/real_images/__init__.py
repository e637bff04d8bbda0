"""Control: real pictures of another split."""
