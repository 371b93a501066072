"""Where the keyboard's focus is, and where it returns to."""
