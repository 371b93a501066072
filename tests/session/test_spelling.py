"""One spelling of a word in everything that is read: the window's texts, the guide and its kin."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
WINDOW = (
    "studio/ui", "studio/graph_editor", "studio/instruction_view", "studio/session",
    "studio/widgets", "studio/cli",
)  # fmt: skip
PAGES = (*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md")))

AMERICAN = re.compile(
    r"\b(?:normaliz|optimiz|initializ|regulariz|analyz|maximiz|minimiz|recogniz|summariz|color"
    r"|center|gray|behavior|neighbor|labeled|modeled|labeling|learnt|favorite|catalog\b)",
    re.IGNORECASE,
)
"""The beginnings of words that stand in the other spelling everywhere."""

NAMES = re.compile(
    r"`[^`]*`|\w+_\w+|\b[A-Z0-9]{2,}\b|\b[A-Z]\w*[a-z][A-Z]\w*|\b(?:background-)?color\s*:"
)
"""What keeps its spelling: code, names of layers and options, properties of style sheets."""


def read_texts(path: Path) -> Iterator[tuple[int, str]]:
    """The texts of a module that may be read: neither its own comments, nor single small words."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    comments = {id(n.value) for n in ast.walk(tree) if isinstance(n, ast.Expr)}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
            continue
        is_prose = " " in node.value.strip() or node.value[:1].isupper()
        if is_prose and id(node) not in comments:
            yield node.lineno, node.value


def test_the_pattern_finds_the_other_spelling_and_leaves_names() -> None:
    assert AMERICAN.search(NAMES.sub("", "Normalization"))
    assert AMERICAN.search(NAMES.sub("", "the colors of a line"))
    kept = "a BatchNormalization with `center` and color_mode <b style='color:#fff'>"
    assert not AMERICAN.search(NAMES.sub("", kept))


@pytest.mark.slow
@pytest.mark.parametrize("package", WINDOW)
def test_the_window_and_the_terminal_keep_to_one_spelling(package: str) -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}: {text}"
        for path in sorted((ROOT / package).rglob("*.py"))
        for line, text in read_texts(path)
        if AMERICAN.search(NAMES.sub("", text))
    ]
    assert found == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_pages_keep_to_one_spelling(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert [m.group(0) for m in AMERICAN.finditer(NAMES.sub("", text))] == []
