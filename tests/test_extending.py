"""The examples of ``docs/extending.md`` touch as few files as it says, and work.

The examples are read from the page, applied to a copy of the tree, and used there by processes that
know only the copy.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
SECONDS = 540


class Change(NamedTuple):
    """Lines of an example: a new file, or lines before one of a file that exists."""

    path: str
    before: str
    text: str

    def apply(self, root: Path) -> None:
        """Write the file, or put the lines in."""
        file = root / self.path
        if not self.before:
            assert not file.exists(), f"{self.path} exists"
            file.parent.mkdir(exist_ok=True)
            file.write_text(self.text, encoding="utf-8")
            return
        lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
        assert lines.count(self.before + "\n") == 1, f"{self.path}: not one line {self.before!r}"
        lines.insert(lines.index(self.before + "\n"), self.text)
        file.write_text("".join(lines), encoding="utf-8")


BLOCK = re.compile(
    r"^\*\*`([^`]+)`\*\* \((?:new|before the line `([^`]+)`)\)\n\n"
    r"```(?:python|text|glsl)\n(.*?)^```$",
    re.M | re.S,
)


def examples() -> dict[str, list[Change]]:
    """The changes of every section of the page that has an example, by its title."""
    found = {}
    for section in PAGE.split("\n## ")[1:]:
        title = section.partition("\n")[0]
        if changes := [Change(*each) for each in BLOCK.findall(section)]:
            found[title] = changes
    return found


def promised() -> dict[str, int]:
    """The table of the page: how many places each thing takes."""
    rows = re.findall(r"^\| (an? [^|]+) \| [^|]+ \| (\d+) \|$", PAGE, re.M)
    return {what: int(places) for what, places in rows}


EXAMPLES = examples()


def files(root: Path) -> dict[str, bytes]:
    """The code of a tree, by path."""
    paths = (p for p in (root / "studio").rglob("*") if p.is_file())
    return {
        p.relative_to(root).as_posix(): p.read_bytes() for p in paths if p.suffix not in (".pyc",)
    }


KERNEL = re.compile(
    r"studio/engine/(?:cpu/kernels|gl/glsl/kernels/\w+)/(?:grads_)?(\w+)\.(?:py|glsl)"
)


def places(before: dict[str, bytes], after: dict[str, bytes]) -> set[str]:
    """Files that changed; a package that is new and kernels of one instruction count once."""
    changed = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
    packages = {
        path.removesuffix("/__init__.py")
        for path in changed - before.keys()
        if path.endswith("/__init__.py")
    }
    merged = {next((p for p in packages if path.startswith(p + "/")), path) for path in changed}
    return {KERNEL.sub(r"kernels of \1", path) for path in merged}


def copy_of_the_tree(to: Path) -> Path:
    """A copy with the compiled modules, which their times keep valid."""
    for folder in ("studio", "projects", "docs", "tests"):
        unread = shutil.ignore_patterns("pictures", "*.runs", "*.nbi", "*.nbc")
        shutil.copytree(ROOT / folder, to / folder, ignore=unread)
    shutil.copy2(ROOT / "pyproject.toml", to)
    return to


def use(copy: Path, *arguments: str) -> None:
    """Run tests in the copy."""
    child = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
        cwd=copy,
        env={**os.environ, "PYTHONPATH": str(copy)},
    )
    assert child.returncode == 0, child.stdout + child.stderr


@pytest.fixture
def copy(tmp_path: Path) -> Iterator[Path]:
    """A copy of the tree, removed afterwards."""
    yield copy_of_the_tree(tmp_path / "tree")
    shutil.rmtree(tmp_path / "tree", ignore_errors=True)


@pytest.mark.slow
def test_each_example_takes_as_many_places_as_the_page_says(copy: Path) -> None:
    before, found = files(copy), {}
    for title, changes in EXAMPLES.items():
        for change in changes:
            change.apply(copy)
        after = files(copy)
        title = title.removesuffix(" or a regulariser")
        found[title[0].lower() + title[1:]] = len(places(before, after))
        before = after
    assert found == promised()
    several = {what: number for what, number in found.items() if number > 1}
    assert several == {
        "a pane": 2,
        "a loss with kernels of its own": 2,
        "a layer with kernels of its own": 3,
    }


@pytest.fixture
def extended(copy: Path) -> Path:
    """A copy of the tree with all examples."""
    for change in (change for changes in EXAMPLES.values() for change in changes):
        change.apply(copy)
    return copy


WRITERS = (
    "tests/test_library_tables.py",
    "tests/engine/isa/test_manual.py",
    "tests/engine/isa/test_line.py::test_opcode_table_is_golden",
    "tests/engine/test_public_names.py",
    "tests/engine/interop/test_formats.py::test_the_docs_list_the_formats",
)
"""Write the generated files, and compare them."""

WALKERS = (
    "tests/engine/conformance/test_kernels_exist.py",
    "tests/engine/gl/test_kernel_files.py",
    "tests/engine/isa/test_meaning.py",
    "tests/session/core/test_option_rows.py",
)
"""Go through all that the registries hold."""

TABLES = ("tests/engine/conformance/test_formulas.py", "tests/engine/formula/test_slopes.py")
"""Try every formula; of those in the copy, what is new is enough."""


@pytest.mark.slow
@pytest.mark.gl
def test_the_examples_join_the_tests_that_walk_the_registries(extended: Path) -> None:
    use(extended, "--update-golden", *WRITERS)
    written = {
        "docs/library.md": (
            "GatedDense",
            "RowStandardization",
            "CosineDistance",
            "Agreement",
            "Heavy",
            "Zigzag",
        ),
        "docs/instructions.md": ("BENT", "HUBER", "UPDATE_SIGNED", "LOSS_COSINE", "kept for the"),
        "docs/commands.md": ("| `plain` |",),
        "tests/golden/isa/opcodes.txt": ("BENT", "GRADS_LOSS_COSINE"),
        "studio/engine/__init__.pyi": ("GatedDense", "StopBelow"),
    }
    for path, words in written.items():
        text = (extended / path).read_text(encoding="utf-8")
        assert [word for word in words if word not in text] == [], path
    use(extended, *WRITERS, *WALKERS)
    use(extended, *TABLES, "-k", "BENT or HUBER or UPDATE_SIGNED")


@pytest.mark.slow
@pytest.mark.gl
def test_the_library_of_the_copy_has_the_examples(extended: Path) -> None:
    use(extended, "tests/extended_library.py")


@pytest.mark.slow
def test_the_window_of_the_copy_has_the_examples(extended: Path) -> None:
    use(extended, "tests/ui/shell/extended_window.py")
