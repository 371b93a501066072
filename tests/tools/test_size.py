"""The sizes of small trees whose numbers are known, and their change since a commit."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

import pytest

from tools import size
from tools.commits import NoCommitError, changed_files, tree_of
from tools.size import TreeSize, count_tokens, report

if TYPE_CHECKING:
    from pathlib import Path

FILES = {
    "studio/__init__.py": '"""The whole."""\n',
    "studio/engine/__init__.py": '"""The library."""\n',
    "studio/engine/core/__init__.py": '"""The bottom."""\n',
    "studio/engine/core/owner.py": (
        '"""Uses a friend."""\n\nfrom studio.engine.core import friend\n\nLIMIT = 3\n'
        "_hidden = friend.help_out\n"
    ),
    "studio/engine/core/friend.py": '"""Used once."""\n\n\ndef help_out() -> int:\n    return 1\n',
    "studio/engine/core/shared.py": '"""Used twice."""\n\nVALUE = 1\n',
    "studio/cli.py": "from studio.engine.core import shared\n",
    "studio/other.py": "from studio.engine.core.shared import VALUE\n",
    "studio/kernel.glsl": "void main() {\n}\n",
    "tests/test_nothing.py": "x = 1\n",
}


def git(root: Path, *words: str) -> None:
    names = ["-c", "user.name=N", "-c", "user.email=n@example.invalid"]
    subprocess.run(["git", "-C", str(root), *names, *words], check=True, capture_output=True)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-q", "-m", "first")
    return tmp_path


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("x = 1\n", 3),
        ('"""A docstring."""\n# a comment\nx = 1\n', 3),
        ('def f():\n    """Words."""\n    return "kept"\n', 7),
        ('x = [\n    "kept",\n    "too",\n]\n', 8),
        ('x = f"{1 + 1} and {f(2)}"\n', 3),
        ("", 0),
    ],
)
def test_tokens_leave_out_comments_and_docstrings(text: str, tokens: int) -> None:
    assert count_tokens(text) == tokens


def test_packages_folders_names_and_modules_with_one_importer(tree: Path) -> None:
    found = TreeSize.of(tree)
    core = found.packages["studio.engine.core"]
    assert (core.files, core.lines, core.one_importer) == (4, 15, 1)
    assert core.public_names == 3, "LIMIT, help_out and VALUE, not _hidden"
    assert found.single == {"studio.engine.core.friend <- studio.engine.core.owner": 5}
    assert found.folders["studio.engine.core"] == 4
    assert found.kernels == (1, 2)
    assert found.beside["tests"].files == 1
    assert found.whole.files == 8


def test_a_module_that_is_imported_by_its_name_has_that_importer_too(tree: Path) -> None:
    (tree / "studio" / "places.py").write_text('PLACE = "studio.engine.core.friend"\n', "utf-8")
    assert TreeSize.of(tree).single == {}


def test_the_change_stands_beside_each_number(tree: Path) -> None:
    before = TreeSize.of(tree)
    (tree / "studio" / "engine" / "core" / "friend.py").unlink()
    (tree / "studio" / "engine" / "core" / "owner.py").write_text("LIMIT = 3\n", "utf-8")
    text = report(TreeSize.of(tree), before)
    row = next(line for line in text.splitlines() if line.startswith("studio.engine.core "))
    assert row.split() == ["studio.engine.core", "3", "(-1)", "5", "(-10)", "6", "(-22)",
                           "0", "(-1)", "2", "(-1)"]  # fmt: skip
    assert "      3  studio.engine.core (-1)" in text
    assert report(before, before).count("(") == report(before).count("(") + 1, "+0 of kernels only"


def test_the_tree_of_a_commit_is_the_one_that_was_committed(tree: Path) -> None:
    (tree / "studio" / "cli.py").write_text("changed\n", "utf-8")
    (tree / "studio" / "new.py").write_text("new\n", "utf-8")
    with tree_of("HEAD", "studio", "benchmarks", root=tree) as folder:
        assert (folder / "studio" / "cli.py").read_text("utf-8") == FILES["studio/cli.py"]
        assert not (folder / "studio" / "new.py").exists()
        assert not (folder / "tests").exists()
    assert not folder.exists()
    assert changed_files("HEAD", root=tree) == ["studio/cli.py", "studio/new.py"]


def test_a_word_that_names_no_commit_is_refused(
    tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(NoCommitError, match="no-such names no commit"), tree_of("no-such"):
        pass
    assert size.main(["--since", "no-such-commit"]) == 2
    written = capsys.readouterr()
    assert written.out == ""
    assert len(written.err.splitlines()) == 1


def test_the_command_counts_this_tree(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tree: Path
) -> None:
    monkeypatch.setattr(size, "ROOT", tree)
    assert size.main([]) == 0
    assert "studio as a whole" in capsys.readouterr().out
    assert size.main(["--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["whole"]["files"] == 8
