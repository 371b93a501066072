"""The canvas: its view, actions, keys and menu."""
