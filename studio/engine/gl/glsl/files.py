"""Reads the files of GLSL beside it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable


@cache
def glsl_files(folder: str) -> Mapping[str, Traversable]:
    """All files of a folder of ``glsl``, and of the folders inside it, by name."""
    return dict(sorted(_inside(resources.files(__package__).joinpath(folder))))


def _inside(folder: Traversable) -> Iterator[tuple[str, Traversable]]:
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _inside(entry)
        elif entry.name.endswith(".glsl"):
            yield entry.name, entry


@cache
def load(folder: str, name: str) -> str:
    """The text of a file of GLSL, wherever it lies inside its folder.

    Raises:
        FileNotFoundError: there is none of that name.
    """
    found = glsl_files(folder).get(name)
    if found is None:
        raise FileNotFoundError(f"studio/engine/gl/glsl/{folder} has no {name}")
    return found.read_text(encoding="utf-8")
