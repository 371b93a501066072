"""Models to and from files, and the check that an exported file is the same model."""
