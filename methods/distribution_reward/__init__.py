"""Distribution-wise rewards through the subsets of a generated set."""
