"""The sweep pane: what is varied, how the trials go, what came out."""
