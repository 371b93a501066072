"""How large the tree is: lines, tokens, files, full folders, modules with one importer, names.

    python -m tools.size
    python -m tools.size --since main

Tokens are those of Python without comments and docstrings: lines of different styles cannot be
compared, tokens can. With ``--since`` a second number says how much there is more or less than in
that commit.
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import sys
import tokenize
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

from tools.commits import ROOT, NoCommitError, short_name, tree_of
from tools.modules import Module, Modules

PROGRAM = "studio"
BESIDE = ("benchmarks", "tools", "tests")
PACKAGE_PARTS = 3
"""How many parts of its name say which package a module counts for."""
FULLEST = 10

_LAYOUT = (tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING,
           tokenize.ENDMARKER, tokenize.COMMENT)  # fmt: skip
_BEFORE_STATEMENT = (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING)


@dataclass
class Size:
    """What is counted of a package.

    Attributes:
        files: Python files.
        lines: all their lines.
        tokens: their tokens without comments and docstrings.
        one_importer: modules that one other module imports, from the same folder.
        public_names: classes, functions and values of modules without a leading underscore.
    """

    files: int = 0
    lines: int = 0
    tokens: int = 0
    one_importer: int = 0
    public_names: int = 0

    def add(self, other: Size) -> None:
        """Count another package in."""
        for name, value in asdict(other).items():
            setattr(self, name, getattr(self, name) + value)


@dataclass(frozen=True)
class TreeSize:
    """The sizes of a tree.

    Attributes:
        packages: of the packages of the program, by name.
        beside: of the folders beside it, by name.
        folders: Python files directly in each folder of the program.
        single: lines of each module with one importer, by ``module <- importer``.
        kernels: files and lines of GLSL.
    """

    packages: dict[str, Size]
    beside: dict[str, Size]
    folders: dict[str, int]
    single: dict[str, int]
    kernels: tuple[int, int]

    @classmethod
    def of(cls, root: Path) -> TreeSize:
        """Read a tree."""
        modules = Modules(root, [PROGRAM])
        alone = modules.one_importer()
        packages: dict[str, Size] = {}
        for module in modules.by_name.values():
            name = ".".join(module.folder.split(".")[:PACKAGE_PARTS])
            packages.setdefault(name, Size()).add(_size(module, alone))
        beside: dict[str, Size] = {}
        for folder in BESIDE:
            for module in Modules(root, [folder]).by_name.values():
                beside.setdefault(folder, Size()).add(_size(module, {}))
        folders = Counter(module.folder for module in modules.by_name.values())
        kernels = [len(path.read_text("utf-8").splitlines())
                   for path in (root / PROGRAM).rglob("*.glsl")]  # fmt: skip
        single = {
            f"{name} <- {importer}": len(modules.by_name[name].text.splitlines())
            for name, importer in alone.items()
        }
        return cls(packages, beside, dict(folders), single, (len(kernels), sum(kernels)))

    @property
    def whole(self) -> Size:
        """The program as a whole."""
        total = Size()
        for size in self.packages.values():
            total.add(size)
        return total

    def to_json(self) -> dict[str, object]:
        """The same for programs."""
        return asdict(self) | {"whole": asdict(self.whole)}


@cache
def count_tokens(text: str) -> int:
    """Python tokens of a text without comments and docstrings; a formatted string is one."""
    # Python 3.12 takes formatted strings apart, earlier ones do not.
    begins, ends = (getattr(tokenize, f"FSTRING_{end}", -1) for end in ("START", "END"))
    count = depth = formatted = 0
    last = tokenize.ENCODING
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in _LAYOUT:
            if token.type not in (tokenize.NL, tokenize.COMMENT):
                last = token.type
            continue
        if token.type == begins:
            formatted += 1
            count += formatted == 1
        elif token.type == ends:
            formatted -= 1
        elif not formatted:
            depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(token.string, 0)
            own_line = not depth and last in _BEFORE_STATEMENT
            count += not (token.type == tokenize.STRING and own_line)
        last = token.type
    return count


def public_names(tree: ast.Module) -> set[str]:
    """The classes, functions and values a module offers."""
    found: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found |= {target.id for target in targets if isinstance(target, ast.Name)}
    return {name for name in found if not name.startswith("_")}


def _size(module: Module, alone: dict[str, str]) -> Size:
    return Size(
        files=1,
        lines=len(module.text.splitlines()),
        tokens=count_tokens(module.text),
        one_importer=int(module.name in alone),
        public_names=len(public_names(module.tree)),
    )


_COLUMNS: tuple[tuple[str, Callable[[Size], int]], ...] = (
    ("files", lambda size: size.files),
    ("lines", lambda size: size.lines),
    ("tokens", lambda size: size.tokens),
    ("one importer", lambda size: size.one_importer),
    ("public names", lambda size: size.public_names),
)


def report(now: TreeSize, before: TreeSize | None = None, *, everything: bool = False) -> str:
    """The tables for people.

    Args:
        now: the tree.
        before: another one to compare with.
        everything: list all modules with one importer, not the smallest only.
    """
    parts = [_packages(now, before)]
    files, lines = now.kernels
    kernels = f"kernels (.glsl): {files:,} files, {lines:,} lines"
    if before is not None:
        kernels += f" ({files - before.kernels[0]:+,} files, {lines - before.kernels[1]:+,} lines)"
    parts.append(kernels)
    fullest = sorted(now.folders.items(), key=lambda item: (-item[1], item[0]))[:FULLEST]
    old = None if before is None else before.folders
    parts.append("\n".join(["fullest folders, in Python files:", *_counted(fullest, old)]))
    single = sorted(now.single.items(), key=lambda item: (item[1], item[0]))
    shown = single if everything else single[:FULLEST]
    which = "" if len(shown) == len(single) else f", the smallest {FULLEST} (--all for all)"
    title = f"modules with one importer, from the same folder{which}, in lines:"
    parts.append("\n".join([title, *_counted(shown, None)]))
    return "\n\n".join(parts) + "\n"


def _packages(now: TreeSize, before: TreeSize | None) -> str:
    rows = [("package", *(name for name, _ in _COLUMNS))]
    old = before or TreeSize({}, {}, {}, {}, (0, 0))
    names = sorted({*now.packages, *old.packages})
    sizes = [(n, now.packages.get(n, Size()), old.packages.get(n, Size())) for n in names]
    sizes.append((f"{PROGRAM} as a whole", now.whole, old.whole))
    sizes += [(n, now.beside.get(n, Size()), old.beside.get(n, Size())) for n in BESIDE]
    for name, size, other in sizes:
        cells = []
        for _, value in _COLUMNS:
            change = value(size) - value(other) if before is not None else 0
            cells.append(f"{value(size):,}" + (f" ({change:+,})" if change else ""))
        rows.append((name, *cells))
    return "\n".join(_aligned(rows))


def _counted(rows: Iterable[tuple[str, int]], old: dict[str, int] | None) -> list[str]:
    found = []
    for name, count in rows:
        change = 0 if old is None else count - old.get(name, 0)
        found.append(f"  {count:5,}  {name}" + (f" ({change:+,})" if change else ""))
    return found or ["  none"]


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in rows
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the sizes; 2 where the commit does not exist."""
    parser = argparse.ArgumentParser(prog="tools.size", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--since", metavar="COMMIT", help="show the change against this commit")
    parser.add_argument("--all", action="store_true", help="list all modules with one importer")
    parser.add_argument("--json", action="store_true", help="answer in JSON")
    options = parser.parse_args(arguments)
    before = None
    try:
        if options.since:
            name = short_name(options.since)
            with tree_of(name, PROGRAM, *BESIDE) as folder:
                before = TreeSize.of(folder)
    except NoCommitError as error:
        sys.stderr.write(f"tools.size: {error}\n")
        return 2
    now = TreeSize.of(ROOT)
    if options.json:
        found = now.to_json() | ({"before": before.to_json()} if before else {})
        sys.stdout.write(json.dumps(found, indent=1) + "\n")
        return 0
    if before is not None:
        sys.stdout.write(f"change since {name} in brackets\n\n")
    sys.stdout.write(report(now, before, everything=options.all))
    return 0


if __name__ == "__main__":
    sys.exit(main())
