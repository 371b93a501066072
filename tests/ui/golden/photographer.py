"""The process that takes the pictures of one theme and scale; its variables are set already.

python -m tests.ui.golden.photographer FOLDER dark|light SCRATCH [NAME ...]
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.ui.golden.studio_of_pictures import SCREEN, hold_still


def main(arguments: list[str]) -> int:
    """Take the pictures named, all where none is."""
    hold_still()
    # The clock stands still from here on for all that the studio loads.
    from tests.ui.golden import comparison
    from tests.ui.golden.camera import Camera, make_application
    from tests.ui.golden.scenes import scenes
    from tests.ui.virtual_display import ensure_display

    folder, mode, scratch, *names = arguments
    ensure_display(SCREEN)
    application = make_application()
    camera = Camera(application, "dark" if mode == "dark" else "light", Path(scratch))
    for name, picture in scenes(camera, frozenset(names) or None):
        comparison.write(Path(folder) / f"{name}.png", picture)
    camera.close()
    application.quit()
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
