"""Adding layers: search, typed nets, the palette, what an addition would change."""
