"""The tensor map and the picture of memory."""
