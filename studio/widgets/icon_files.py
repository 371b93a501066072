"""The shapes of the studio's icons, and files that hold one in one colour."""

from __future__ import annotations

import atexit
import json
import shutil
import tempfile
from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType

_SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="16" height="16" viewBox="0 0 16 16" '
    'fill="none" stroke="{colour}" stroke-width="1.4" stroke-linecap="round" '
    'stroke-linejoin="round">{shape}</svg>'
)


@cache
def shapes() -> Mapping[str, str]:
    """What each icon is made of: SVG elements on a grid of 16 by 16, in the current colour."""
    beside = Path(__file__).with_name("icon_shapes.json")
    return MappingProxyType(json.loads(beside.read_text(encoding="utf-8")))


def is_icon(name: str) -> bool:
    """Whether there is an icon of this name, or the text is an icon itself."""
    return name.startswith("<") or name in shapes()


@cache
def svg(name: str, colour: str) -> str:
    """An icon as SVG text in one colour, given as ``#RRGGBB``.

    Args:
        name: of the icon, or the icon itself: SVG elements on a grid of 16 by 16.
        colour: what ``currentColor`` stands for.
    """
    shape = name if name.startswith("<") else shapes()[name]
    return _SVG.format(colour=colour, shape=shape.replace("currentColor", colour))


@cache
def path_of(name: str, colour: str) -> str:
    """Path of a file that holds a shape in one colour.

    Qt draws an icon from an SVG file sharply for every scale and screen.
    """
    stem = sha256(name.encode()).hexdigest()[:16] if name.startswith("<") else name
    path = _folder() / f"{stem}-{colour.removeprefix('#')}.svg"
    path.write_text(svg(name, colour), encoding="utf-8")
    return path.as_posix()


@cache
def _folder() -> Path:
    made = tempfile.mkdtemp(prefix="glassbox-icons-")
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return Path(made)
