"""The document as drawn, its edits, history and checks; nothing here knows of a window."""
