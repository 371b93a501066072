"""Import and export, one file per format."""
