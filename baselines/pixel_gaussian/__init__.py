"""Control: every pixel drawn on its own."""
