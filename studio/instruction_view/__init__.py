"""The panes that show a program: listing, tensor map, and the path bar."""
