"""Edits: functions from a state of the document to the next; each refuses with a StudioError."""
