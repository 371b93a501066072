"""Every text that a user can see, in one list: where it stands, what it is, what it says.

    python -m tools.screen_texts
    python -m tools.screen_texts studio/ui/panes/plots --kind "tool tip"

The texts are read from the syntax trees: strings in calls that show text (``setToolTip``,
``notify``), in records that hold it (``Action``, an option of a layer), in errors for users and
their hints, and whatever else reads as words in a package of the window. Docstrings count where
they are shown: those of layers, losses and the like, of instructions, and of commands. A value that
is put in at run time is written in braces, ``{name}``. Headings are those of the pages of the Help
menu.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.commits import ROOT

PROGRAM = "studio"
COMMAND_TABLE = "studio/cli/app.py"
"""The module whose ``COMMANDS`` says which function is which command."""
WINDOW_ACTIONS = "studio/ui/shell"
"""Where a module ``actions.py`` names the pages of the Help menu in ``PAGES``."""


def _names(words: str) -> frozenset[str]:
    return frozenset(words.split())


WINDOW = (
    "studio/ui", "studio/widgets", "studio/session", "studio/graph_editor",
    "studio/instruction_view", "studio/cli", "studio/samples.py", "studio/engine/train",
    "studio/engine/optim", "studio/engine/layers", "studio/engine/profiler",
    "studio/engine/plugins", "studio/engine/formats", "studio/engine/interop",
    "studio/engine/runtime",
)  # fmt: skip
"""Where words are for the screen unless something says otherwise."""

DESCRIBED = (
    "studio/engine/isa/ops", "studio/engine/layers", "studio/engine/optim",
    "studio/engine/train/callbacks",
)  # fmt: skip
"""Packages whose classes describe themselves: in the inspector, the help window and the tables."""
MANUALS = ("studio/engine/isa/ops", "studio/engine/layers")
"""Those of them whose whole docstrings are pages of help, not only the first paragraphs."""

PLAIN_BASES = _names("ABC Protocol NamedTuple Enum IntEnum Generic Mapping Sequence")
"""A class that derives from nothing else describes itself to programmers only."""

_OPTION = {0: "description", "effect": "effect", "label": "label"}
CALLS: Mapping[str, Mapping[int | str, str]] = {
    "Action": {1: "action", 2: "description", "menu": "", "aliases": "alias"},
    "Argument": {"help": "command line"}, "Option": {"help": "command line"},
    "Question": {0: "question"}, "FunctionCheck": {0: "question"},
    "setWindowTitle": {0: "title"}, "setTitle": {0: "title"}, "addMenu": {0: "menu"},
    "setAccessibleName": {0: "accessible name"},
    "setAccessibleDescription": {0: "accessible description"},
    "setToolTip": {0: "tool tip"}, "setStatusTip": {0: "tool tip"}, "setWhatsThis": {0: "tool tip"},
    "setPlaceholderText": {0: "placeholder"}, "setText": {0: "label"}, "QLabel": {0: "label"},
    "addRow": {0: "label"}, "addTab": {1: "label"}, "addItem": {0: "choice"},
    "QPushButton": {0: "button"}, "QToolButton": {0: "button"}, "QCheckBox": {0: "button"},
    "QRadioButton": {0: "button"}, "addAction": {0: "action"}, "addButton": {0: "button"},
    "tool_button": {0: "accessible name", 2: "tool tip"},
    "EmptyState": {1: "empty state", 2: "empty state", 3: "button"},
    "notify": {0: "notice", 2: "button"}, "notice": {0: "notice"},
    "Problem": {3: "problem", 4: "hint", "message": "problem", "hint": "hint"},
    "Candidate": {0: "repair", 2: "repair"},
    "reads": {0: "manual"}, "writes": {0: "manual"}, "updates": {0: "manual"},
    "numbers.counted": {1: "noun", 2: "noun"},
    "side_input": {0: "manual"}, "Function": {0: "manual"}, "Activation": {0: "manual"},
}  # fmt: skip
"""What the arguments of a call are, by position or name; the others are judged as any string."""

OPTIONS = _names(
    "number integer flag choice pair spec text integers numbers optional_number optional_integer "
    "initializer kernel_initializer regularizer kernel_regularizer"
)
"""Functions that declare an option of a layer, a training or the preferences."""

SILENT = _names(
    "debug info warning error exception critical log getLogger setStyleSheet setObjectName "
    "setProperty compile sub match fullmatch search findall finditer strftime strptime getattr "
    "setattr hasattr TypeVar cast startswith endswith encode decode import_module QSettings "
    "removeprefix removesuffix partition rpartition split rsplit find rfind count TypeAlias "
    "AssertionError NotImplementedError KeyError IndexError ValueError TypeError RuntimeError "
    "AttributeError OSError ImportError Literal"
)
"""Calls whose strings are for programs, for logs or for programmers."""

REFUSALS = ("refuse", "wrong", "breach", "Breach", "beyond")
"""Functions that make or raise an error for users."""

_WORD = re.compile(r"[A-Za-zé']{2,}")
_CODE = re.compile(r"[{};<>]|::|==|\w\(\)|^\.?/|^--|%[a-z]\b|\w_\w+$|^#|\w\[| \| |\w/\w+ ")
_SENTENCE_WORD = re.compile(r"^[A-Z][a-zé' -]+…?$")


@dataclass(frozen=True)
class ScreenText:
    """One text.

    Attributes:
        place: ``file:line`` from the root of the tree.
        kind: what it is: a tool tip, an error, a heading.
        text: its words, on one line.
    """

    place: str
    kind: str
    text: str

    def __str__(self) -> str:
        return f"{self.place}  [{self.kind}]  {self.text}"


def screen_texts(root: Path, inside: Sequence[str] = (PROGRAM,)) -> Iterator[ScreenText]:
    """The texts of a tree, by file and line.

    Args:
        root: the folder that holds ``studio``.
        inside: files and folders to look into, from the root.
    """
    commands = commands_of(root)
    for path in sorted({one for part in inside for one in _files(root / part, "*.py")}):
        place = path.relative_to(root).as_posix()
        yield from texts_of(path.read_text(encoding="utf-8"), place, commands.get(place, ()))
    wanted = [(root / part).resolve() for part in inside]
    for page in help_pages(root):
        if inside == (PROGRAM,) or any(page.resolve().is_relative_to(one) for one in wanted):
            yield from headings_of(
                page.read_text(encoding="utf-8"), page.relative_to(root).as_posix()
            )


def texts_of(source: str, place: str, commands: Collection[str] = ()) -> Iterator[ScreenText]:
    """The texts of one module.

    Args:
        source: its text.
        place: its path from the root, which also says whether it is one of the window.
        commands: names of its functions that are commands.
    """
    tree = ast.parse(source, place)
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    found: list[tuple[int, int, str, str]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            found += _shown_docstring(node, place, commands)
        if not isinstance(node, ast.JoinedStr | ast.Constant):
            continue
        if isinstance(node, ast.Constant) and not isinstance(node.value, str):
            continue
        if isinstance(parents.get(node), ast.JoinedStr):
            continue  # A part of a text; words in its values, {a if b else 'words'}, are texts.
        words = _written(node)
        if not _WORD.search(re.sub(r"{[^}]*}", "", words)):
            continue
        if kind := _kind(node, parents, place, words):
            found.append((node.lineno, node.col_offset, kind, words))
    for line, _column, kind, words in sorted(found):
        yield ScreenText(f"{place}:{line}", kind, words)


def _shown_docstring(
    node: ast.ClassDef | ast.FunctionDef, place: str, commands: Collection[str]
) -> Iterator[tuple[int, int, str, str]]:
    """Line, column, kind and words of each paragraph that a user is shown."""
    written = ast.get_docstring(node)
    if not written:
        return
    kind, count = "command line", None
    if isinstance(node, ast.ClassDef):
        bases = {ast.unparse(base).partition("[")[0] for base in node.bases} - PLAIN_BASES
        if node.name.startswith("_") or not bases or not _is_in(place, DESCRIBED):
            return
        kind, count = "description", None if _is_in(place, MANUALS) else 1
    elif node.name not in commands:
        return
    text = node.body[0]
    line = text.lineno
    for paragraph in written.split("\n\n")[:count]:
        if paragraph.startswith(("Args:", "Attributes:", "Raises:", "Returns:")):
            return
        yield line, text.col_offset, kind, " ".join(paragraph.split())
        line += paragraph.count("\n") + 2


def commands_of(root: Path) -> dict[str, list[str]]:
    """The functions that are commands, by module."""
    table = root / COMMAND_TABLE
    found: dict[str, list[str]] = {}
    for node in ast.parse(table.read_text(encoding="utf-8")).body if table.is_file() else ():
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "COMMANDS":
            for module, function in ast.literal_eval(node.value).values():
                found.setdefault(f"studio/cli/commands/{module}.py", []).append(function)
    return found


def headings_of(page: str, place: str) -> Iterator[ScreenText]:
    """The headings of a page in Markdown."""
    is_code = False
    for number, line in enumerate(page.splitlines(), 1):
        if line.startswith("```"):
            is_code = not is_code
        elif not is_code and (heading := re.match(r"#+ +(.+)", line)):
            yield ScreenText(f"{place}:{number}", "heading", heading[1])


def help_pages(root: Path) -> list[Path]:
    """The pages of the Help menu, as far as they are there."""
    for module in sorted((root / WINDOW_ACTIONS).rglob("actions.py")):
        for node in ast.parse(module.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "PAGES":
                names = [row[0] for row in ast.literal_eval(node.value)]
                found = [root / "docs" / f"{name}.md" for name in names]
                return [path for path in found if path.is_file()]
    return []


def _files(path: Path, pattern: str) -> list[Path]:
    return [path] if path.is_file() and path.match(pattern) else list(path.rglob(pattern))


def _written(node: ast.expr) -> str:
    """The text with values in braces, on one line."""
    if isinstance(node, ast.Constant):
        return " ".join(str(node.value).replace("\n", " ⏎ ").split())
    assert isinstance(node, ast.JoinedStr)
    parts = [
        str(part.value) if isinstance(part, ast.Constant) else f"{{{_value(part)}}}"
        for part in node.values
    ]
    return " ".join("".join(parts).replace("\n", " ⏎ ").split())


def _value(part: ast.expr) -> str:
    assert isinstance(part, ast.FormattedValue)
    text = ast.unparse(part.value)
    return text if len(text) <= 40 else "…"


def _kind(node: ast.expr, parents: Mapping[ast.AST, ast.AST], place: str, words: str) -> str:
    """What a string is, by the nearest thing around it that says so; empty if it is not shown."""
    child: ast.AST = node
    while not isinstance(parent := parents.get(child), ast.Module | None):
        if _is_for_programs(parent, child):
            return ""
        if isinstance(parent, ast.Call):
            kind = _kind_in_call(parent, child)
            if kind is not None:
                return kind
        if isinstance(parent, ast.stmt):
            if isinstance(parent, ast.Expr) and child is node:
                return ""  # A docstring.
            break
        child = parent
    return "text" if _is_in(place, WINDOW) and _reads_as_words(words) else ""


def _is_in(place: str, folders: Sequence[str]) -> bool:
    return any(place == one or place.startswith(f"{one}/") for one in folders)


def _is_for_programs(parent: ast.AST, child: ast.AST) -> bool:
    """Whether a string there is a key, a name or an annotation."""
    match parent:
        case ast.Subscript():
            return parent.slice is child
        case ast.AnnAssign():
            return parent.annotation is child
        case ast.FunctionDef():
            return parent.returns is child
    return isinstance(parent, ast.Compare | ast.MatchValue | ast.Assert | ast.arg)


def _kind_in_call(call: ast.Call, child: ast.AST) -> str | None:
    """What an argument of a call is; None where the call does not say."""
    key = _argument(call, child)
    if key is None:
        return None
    if isinstance(call.func, ast.Name) and call.func.id in OPTIONS:
        return _OPTION.get(key, "")
    full = ast.unparse(call.func)
    name = full.rpartition(".")[2].lstrip("_")
    for one in (full, name):
        if key in CALLS.get(one, {}):
            return CALLS[one][key]
    if name in SILENT:
        return ""
    if name.endswith("Error") or name in REFUSALS:
        return "hint" if key == "hint" else "error"
    return None


def _argument(call: ast.Call, child: ast.AST) -> int | str | None:
    if child in call.args:
        return call.args.index(child)
    for keyword in call.keywords:
        if keyword is child:
            return keyword.arg
    return None


def _reads_as_words(text: str) -> bool:
    """Whether a string is a sentence, some words or a label, and no name, path or code."""
    plain = re.sub(r"{[^}]*}", "", text)
    if _CODE.search(plain):
        return False
    return (" " in plain and len(_WORD.findall(plain)) > 1) or bool(_SENTENCE_WORD.match(plain))


def main(words: Sequence[str] | None = None) -> int:
    """Print the list; 1 where a path is not there."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.screen_texts",
        description="Prints every text that a user can see, by file and line.",
    )
    parser.add_argument(
        "path", nargs="*", default=[PROGRAM], help="files or folders; all of studio"
    )
    parser.add_argument("--kind", help="only texts of this kind, such as error or 'tool tip'")
    parser.add_argument("--match", help="only texts in which this regular expression is found")
    asked = parser.parse_args(words)
    for one in asked.path:
        if not (ROOT / one).exists():
            sys.stderr.write(f"there is no {one}\n")
            return 1
    for text in screen_texts(ROOT, tuple(asked.path)):
        if asked.kind not in (None, text.kind):
            continue
        if asked.match and not re.search(asked.match, text.text):
            continue
        sys.stdout.write(f"{text}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
