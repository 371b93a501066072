"""What panes are made of: theme, bindings, frames, small widgets."""
