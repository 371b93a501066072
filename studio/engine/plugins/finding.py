"""Finds installed plugins without importing them."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, replace
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

from studio.engine.plugins.plugin import Plugin

GROUP = "glassbox.plugins"
FOLDER = "plugins"
"""Folder of ``.py`` plugins inside that of the user's configuration."""
MODULES = "glassbox_plugins"
"""What the modules of ``.py`` plugins are called: ``glassbox_plugins.<name>``."""
NO_VERSION = "0"

_NAME = re.compile(r"[A-Za-z]\w{0,63}\Z", re.ASCII)
_NAME_RULE = "expected a name of letters, digits and _"
_VERSION = re.compile(r"[^\s,=]{1,64}\Z")
"""What stands after ``==`` in a list separated by commas."""
_LONGEST = 1 << 20


@dataclass(frozen=True)
class Found:
    """A plugin that could be loaded.

    Attributes:
        plugin: its name and version.
        module: what its module is called.
        place: its file, or the package it is installed with, for people.
        path: the file, for a plugin that is one.
        problem: why it cannot be loaded; empty if no reason is known.
        shadowed: whether another plugin of its name is used instead.
    """

    plugin: Plugin
    module: str
    place: str
    path: Path | None = None
    problem: str = ""
    shadowed: bool = False


def find_plugins(config: Path) -> tuple[Found, ...]:
    """Every plugin of this installation and of the user's folder, by name.

    Of two with one name the first is taken, an installed one before a file; the other has that as
    its problem.

    Args:
        config: folder of the user's configuration.
    """
    found: dict[str, Found] = {}
    lost: list[Found] = []
    for made in (*map(_installed, entry_points(group=GROUP)), *map(_file, _files(config / FOLDER))):
        other = found.setdefault(made.plugin.name, made)
        if other is not made:
            where = "is installed with" if other.path is None else "is the file"
            problem = f"a plugin of this name {where} {other.place}"
            lost.append(replace(made, problem=problem, shadowed=True))
    return tuple(sorted((*found.values(), *lost), key=lambda each: each.plugin.name))


def _installed(point: EntryPoint) -> Found:
    package = point.dist
    version = package.version if package is not None else NO_VERSION
    place = package.name if package is not None else point.module
    problem = "" if _NAME.match(point.name) else f"{_NAME_RULE}: its package must rename it"
    plugin = Plugin(point.name, version or NO_VERSION)
    return Found(plugin, point.module, place, problem=problem)


def _files(folder: Path) -> list[Path]:
    try:
        found = sorted(folder.glob("*.py"))
    except OSError:
        return []
    return [path for path in found if path.name.isprintable() and path.stem[:1] not in "._"]


def _file(path: Path) -> Found:
    version, problem = NO_VERSION, ""
    try:
        if not _NAME.match(path.stem):
            problem = f"{_NAME_RULE}: rename the file"
        elif path.stat().st_size > _LONGEST:
            problem = "the file is larger than 1 MiB"
        else:
            version = _version(ast.parse(path.read_bytes()))
    except SyntaxError as error:
        problem = f"the file cannot be read: line {error.lineno}: {error.msg}"
    except (OSError, ValueError, RecursionError, MemoryError) as error:
        problem = f"the file cannot be read: {getattr(error, 'strerror', None) or error}"
    name = path.stem
    return Found(Plugin(name, version), f"{MODULES}.{name}", str(path), path, problem)


def _version(tree: ast.Module) -> str:
    """``__version__`` as the file states it; its text is read, not run."""
    for line in tree.body:
        match line:
            case ast.Assign(
                targets=[ast.Name(id="__version__")], value=ast.Constant(value=str() as version)
            ) if _VERSION.match(version) and version.isprintable():
                return version
    return NO_VERSION
