"""The board people browse, and the records bundled with Podium."""
