"""Shows golden pictures beside those of the window as it is now, and takes the new ones over.

python -m tests.ui.golden [FOLDER] [--update] [--only SITTING]
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

from tests.ui.golden import audit


def main(words: list[str]) -> int:
    """Take all pictures, write the page, update what is stored where that was asked for."""
    parser = argparse.ArgumentParser(prog="python -m tests.ui.golden")
    parser.add_argument("folder", nargs="?", type=Path, help="gets the pictures and index.html")
    parser.add_argument("--update", action="store_true", help="store what was found")
    parser.add_argument(
        "--only", choices=[each.name for each in audit.SITTINGS], help="one theme and scale"
    )
    asked = parser.parse_args(words)
    folder = asked.folder or Path(tempfile.mkdtemp(prefix="golden-audit-"))
    folder = folder.resolve()
    findings = []
    for sitting in audit.SITTINGS:
        if asked.only in (None, sitting.name):
            shutil.rmtree(folder / sitting.name, ignore_errors=True)
            audit.take(sitting, folder / sitting.name)
            findings += audit.look(sitting, folder)
    page = audit.write_page(findings, folder)
    for finding in findings:
        if not finding.measured.is_same:
            sys.stdout.write(f"{finding.name}: {finding.measured}\n")
    sys.stdout.write(f"{page}\n")
    if asked.update:
        sys.stdout.write(f"{len(audit.update(findings))} pictures stored\n")
        return 0
    return int(any(not finding.measured.is_same for finding in findings))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
