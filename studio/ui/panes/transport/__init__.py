"""The transport: what starts, steps, pauses and ends a training, and how far it is."""
