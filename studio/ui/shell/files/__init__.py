"""Opening, saving, dropping, leaving."""
