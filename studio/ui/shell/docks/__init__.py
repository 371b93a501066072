"""The docks of the window and how they are arranged."""
