"""The compiled program before the user: instruction listing, pass diffs, tensor map, path."""
