"""The tensor map: its rows, columns and the picture of memory over time."""
