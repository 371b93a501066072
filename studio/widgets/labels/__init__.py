"""Labels and small buttons, most of them as narrow as their place."""
