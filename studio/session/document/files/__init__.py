"""A document as plain data and back: project files, layers of other versions, clipboard."""
