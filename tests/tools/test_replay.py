"""Kernels of two trees compared: equal ones, one that differs, and trees that cannot be asked."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from tools import replay
from tools.commits import ROOT
from tools.replay import ReplayError, Tree, compare, first_difference

if TYPE_CHECKING:
    from pathlib import Path

OLD = "host:\n  upload\n\nforward:\n  1 LINEAR\n    linear 8 groups\n  2 RELU\n"


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A copy of what `tools.replay` takes from a commit."""
    ignored = shutil.ignore_patterns("__pycache__", "*.runs")
    for name in replay.FOLDERS:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, tmp_path / name, ignore=ignored)
        else:
            shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def test_the_first_difference_is_shown_with_the_lines_before_it() -> None:
    assert first_difference(OLD, OLD) == ""
    assert first_difference(OLD, OLD.replace("8 groups", "4 groups")) == (
        "line 6 (forward):\n  forward:\n    1 LINEAR\n-     linear 8 groups\n+     linear 4 groups"
    )


@pytest.mark.parametrize("longer", [0, 1])
def test_a_text_that_goes_on_differs_where_the_other_ends(longer: int) -> None:
    texts = [OLD, OLD + "  3 END\n"]
    found = first_difference(texts[1 - longer], texts[longer])
    assert found.splitlines()[0] == "line 8 (forward):"
    assert found.splitlines()[-1] == ("+" if longer else "-") + "   3 END"


def test_a_folder_that_is_no_tree_is_named(tmp_path: Path) -> None:
    with (
        Tree("the old one", tmp_path) as old,
        Tree("this tree", tmp_path) as new,
        pytest.raises(
            ReplayError, match=r"the old one does not print its kernels: .*the folder holds no"
        ),
    ):
        compare(old, new)


def test_a_word_that_names_no_commit_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert replay.main(["no-such-commit"]) == 2
    written = capsys.readouterr()
    assert (written.out, len(written.err.splitlines())) == ("", 1)


@pytest.mark.slow
def test_a_copy_of_the_tree_has_the_same_kernels(copied: Path) -> None:
    module = copied / "studio" / "engine" / "core" / "errors.py"
    module.write_text(module.read_text("utf-8") + "\n# A remark.\n", "utf-8")
    with Tree("old", ROOT) as old, Tree("new", copied) as new:
        equal, told = compare(old, new, ["spirals", "W2"])
    assert equal
    assert "12 listings" in told
    assert "shaders are equal" in told


@pytest.mark.slow
def test_a_line_of_a_shader_makes_a_difference(copied: Path) -> None:
    kernel = copied / "studio" / "engine" / "gl" / "glsl" / "kernels" / "softmax" / "softmax.glsl"
    text = kernel.read_text("utf-8")
    assert "exp(" in text
    kernel.write_text(text.replace("exp(", "exp2(", 1), "utf-8")
    with Tree("old", ROOT) as old, Tree("new", copied) as new:
        equal, told = compare(old, new, ["spirals"])
    assert not equal
    assert told.startswith("spirals ")
    assert " gl-hardware: the kernels of old and new differ in line " in told
    assert "exp2(" in told.splitlines()[-1]


@pytest.mark.slow
def test_a_work_that_no_tree_has_is_refused() -> None:
    with (
        Tree("old", ROOT) as old,
        Tree("new", ROOT) as new,
        pytest.raises(ReplayError, match="nothing that both trees print"),
    ):
        compare(old, new, ["W99"])
