"""The modules of a tree and which of them import which, read from their text."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

# Read by patterns, since parsing a thousand files takes ten times as long.
_IMPORT = re.compile(
    r"^[ \t]*(?:from ([\w.]+) import (\([^)]*\)|[^\n#]+)|import ([^\n#]+))", re.MULTILINE
)
_COMMENT = re.compile(r"#[^\n]*")
_NAMED = re.compile(r"""["']((?:studio|tools|benchmarks)(?:\.\w+)+\.?)(?=["':{])""")


@dataclass(frozen=True)
class Module:
    """One Python file.

    Attributes:
        name: its dotted name from the root of the tree.
        path: where it is.
        is_package: whether it is the ``__init__.py`` of its folder.
    """

    name: str
    path: Path
    is_package: bool

    @property
    def folder(self) -> str:
        """The dotted name of the folder it lies in."""
        return self.name if self.is_package else self.name.rpartition(".")[0]

    @cached_property
    def text(self) -> str:
        """Its source."""
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def tree(self) -> ast.Module:
        """Its syntax tree."""
        return ast.parse(self.text, str(self.path))


class Modules:
    """All modules of some top-level folders.

    Args:
        root: the folder that holds them.
        folders: their names; those that are not there are left out.
    """

    def __init__(self, root: Path, folders: Iterable[str]) -> None:
        self.root = root
        self.by_name: dict[str, Module] = {}
        for folder in folders:
            for path in sorted((root / folder).rglob("*.py")):
                parts = path.relative_to(root).with_suffix("").parts
                is_package = parts[-1] == "__init__"
                name = ".".join(parts[:-1] if is_package else parts)
                self.by_name[name] = Module(name, path, is_package)

    def imports(self, module: Module) -> set[str]:
        """Names of the modules its import statements name, inside functions too."""
        found: set[str] = set()
        for source, names, plain in _IMPORT.findall(_COMMENT.sub("", module.text)):
            if plain:
                found |= {self._known(name.split(" as ")[0].strip()) for name in plain.split(",")}
            else:
                named = (part.split() for part in names.strip("()").split(","))
                found |= {self._known(f"{source}.{part[0]}") for part in named if part}
        return found - {"", module.name}

    def named(self, module: Module) -> set[str]:
        """Names of the modules its strings name, as those that are imported by name have them.

        A string that names a package, or begins the names of its modules, stands for all modules
        of that folder: registries import all of it.
        """
        texts = _NAMED.findall(module.text)
        return {name for text in texts for name in self._meant(text)} - {module.name}

    def one_importer(self) -> dict[str, str]:
        """The importer of each module that only one other, from the same folder, imports."""
        users: dict[str, set[str]] = {}
        for module in self.by_name.values():
            for name in self.imports(module) | self.named(module):
                users.setdefault(name, set()).add(module.name)
        found = {}
        for name, importers in sorted(users.items()):
            module = self.by_name[name]
            first = self.by_name[min(importers)]
            if len(importers) == 1 and not module.is_package and first.folder == module.folder:
                found[name] = first.name
        return found

    def _meant(self, text: str) -> set[str]:
        name = text.rstrip(".")
        module = self.by_name.get(name)
        if module is not None and not module.is_package:
            return {name}
        # The top of a tree is named to say where the tree is, not to load all of it.
        if "." not in name or name == "studio.engine":
            return set()
        return {other.name for other in self.by_name.values() if other.folder == name}

    def _known(self, dotted: str) -> str:
        """The module of which a dotted name is, or is a part of; empty for none of ours."""
        while dotted and dotted not in self.by_name:
            dotted = dotted.rpartition(".")[0]
        return dotted
