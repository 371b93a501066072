"""Pictures: decoding one, and folders with one folder per class."""
