"""The panes of the studio's window, one package each; they do not know each other."""
