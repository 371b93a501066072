"""A small forward pass of the open document, kept up to date."""
