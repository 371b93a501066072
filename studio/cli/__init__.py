"""The ``glassbox`` command line: everything that needs no window."""
