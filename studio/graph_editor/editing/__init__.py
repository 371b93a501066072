"""Editing by mouse and keys: adding, linking, choosing, repairs."""
