"""The data pane: where samples come from, what they look like, how they are divided and changed."""
