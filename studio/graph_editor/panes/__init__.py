"""The panes beside the canvas: palette, outline, history."""
