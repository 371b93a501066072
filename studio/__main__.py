"""Start Glassbox as ``python -m studio``."""

import sys

from studio.cli.app import main

if __name__ == "__main__":
    sys.exit(main())
