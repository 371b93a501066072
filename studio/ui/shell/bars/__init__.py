"""The toolbar, the path row and the status bar."""
