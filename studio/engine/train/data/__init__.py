"""Data sets: the record every loader returns, the loaders, splits, batch order and streaming."""
