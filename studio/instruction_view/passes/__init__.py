"""What each compiler pass changed."""
