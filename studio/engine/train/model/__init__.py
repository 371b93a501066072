"""Models in Python: ``Sequential`` and ``Model``."""
