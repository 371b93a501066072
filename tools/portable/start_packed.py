"""Starts Glassbox in a packed folder, where the program itself takes Python's place.

Glassbox starts processes of its own as ``python -P -m studio…``: exports are checked and HDF5 files
are read in one. There is no Python in a packed folder, so the program answers these words as Python
does, for modules of Glassbox alone.
"""

import runpy
import sys


def start() -> int:
    """Run a module of Glassbox where one is asked for, else a command."""
    words = sys.argv[1:]
    if words[:1] == ["-P"]:
        words = words[1:]
    if words[:1] == ["-m"] and words[1:] and words[1].partition(".")[0] == "studio":
        sys.argv = words[1:]
        runpy.run_module(words[1], run_name="__main__", alter_sys=True)
        return 0
    from studio.__main__ import main

    return main()


if __name__ == "__main__":
    sys.exit(start())
