"""Sets of pictures: read from a folder, a zip or an ADM ``.npz``, and scored against each other."""
