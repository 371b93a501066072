"""Which tests a change can touch, in small trees; and the end to the time."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tools import check
from tools.check import Touched, describe, touched_tests
from tools.commits import ROOT

if TYPE_CHECKING:
    from pathlib import Path

FILES = {
    "studio/engine/core/bottom.py": "",
    "studio/engine/core/plain.py": "",
    "studio/engine/top.py": (
        "from studio.engine.core import (\n    bottom,  # used, (below)\n    plain as p,\n)\n"
    ),
    "studio/engine/gl/glsl/files.py": "",
    "studio/engine/gl/glsl/kernels/add.glsl": "void main() {}\n",
    "studio/engine/layers/dense.py": "",
    "studio/engine/registry.py": 'FOLDER = "studio.engine.layers"\n',
    "studio/cli/app.py": 'word = ""\nplace = f"studio.cli.commands.{word}"\n',
    "studio/cli/commands/train.py": "import studio.engine.top as top, os\n",
    "tests/conftest.py": "from tests import given\n",
    "tests/given.py": "",
    "tests/engine/conftest.py": "",
    "tests/engine/core/test_bottom.py": "import studio.engine.core.bottom\n",
    "tests/engine/test_top.py": "def test_it():\n    from studio.engine.top import f\n",
    "tests/engine/test_registry.py": "from studio.engine.registry import made\n",
    "tests/engine/gl/test_source.py": "from studio.engine.gl.glsl.files import load\n",
    "tests/cli/test_app.py": "from studio.cli.app import main\n",
    "tests/test_docs.py": 'PAGE = ROOT / "docs" / "library.md"\n',
    "tests/test_apart.py": "x = 1\n",
}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path


def names(tree: Path, *changed: str) -> list[str]:
    return [test.path.removeprefix("tests/") for test in touched_tests(changed, tree)]


def test_tests_that_import_a_change_come_before_those_further_away(tree: Path) -> None:
    found = names(tree, "studio/engine/core/bottom.py")
    assert found == ["engine/core/test_bottom.py", "engine/test_top.py", "cli/test_app.py"]


def test_names_of_an_import_in_brackets_are_all_seen(tree: Path) -> None:
    assert "engine/test_top.py" in names(tree, "studio/engine/core/plain.py")


def test_modules_found_by_the_name_of_their_folder_reach_the_tests(tree: Path) -> None:
    assert names(tree, "studio/engine/layers/dense.py") == ["engine/test_registry.py"]
    assert names(tree, "studio/cli/commands/train.py") == ["cli/test_app.py"]


def test_a_kernel_is_read_by_the_package_it_lies_in(tree: Path) -> None:
    assert names(tree, "studio/engine/gl/glsl/kernels/add.glsl") == ["engine/gl/test_source.py"]


def test_a_document_reaches_the_tests_that_name_it(tree: Path) -> None:
    assert names(tree, "docs/library.md") == ["test_docs.py"]
    assert names(tree, "docs/other.md") == []


def test_a_conftest_and_what_it_uses_reach_all_tests_below(tree: Path) -> None:
    below = {name for name in FILES if name.startswith("tests/engine/") and "test_" in name}
    assert {f"tests/{name}" for name in names(tree, "tests/engine/conftest.py")} == below
    assert "test_apart.py" in names(tree, "tests/given.py")


def test_a_changed_test_comes_first_and_says_so(tree: Path) -> None:
    found = touched_tests(["studio/engine/core/bottom.py", "tests/engine/test_top.py"], tree)
    assert (found[0].path, found[0].why) == ("tests/engine/test_top.py", "changed")
    assert found[1].why == "uses studio/engine/core/bottom.py"


def test_a_module_that_is_gone_reaches_what_its_folder_does(tree: Path) -> None:
    found = names(tree, "studio/engine/core/gone.py")
    assert sorted(found) == sorted(names(tree, "studio/engine/core/bottom.py"))
    assert names(tree, "tests/engine/test_gone.py") == []


def test_what_was_chosen_is_said() -> None:
    tests = [Touched(1, f"tests/test_{number}.py", "changed") for number in range(20)]
    text = describe(tests, 31)
    assert "the nearest 20 of 31" in text
    assert "and 8 more" in text
    assert describe([], 0) == "no test reaches the change"
    assert len(describe(tests, 20, everything=True).splitlines()) == 21


@pytest.mark.slow
def test_in_this_tree_a_kernel_of_the_cpu_reaches_its_conformance_tests() -> None:
    found = [test.path for test in touched_tests(["studio/engine/cpu/kernels/softmax.py"])]
    assert any(path.startswith("tests/engine/conformance/") for path in found)
    assert any(path.startswith("tests/engine/cpu/") for path in found)


def test_an_unknown_commit_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert check.main(["no-such-commit", "--list"]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def run_pytest(tmp_path: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-p", "tools.nearest_first", "-rs", "-v"]
    command += ["-p", "no:cacheprovider", "-c", str(tmp_path / "pytest.ini"), *words]
    (tmp_path / "pytest.ini").write_text("[pytest]\n", "utf-8")
    for name in ("test_a.py", "test_b.py"):
        (tmp_path / name).write_text("def test_it():\n    pass\n", "utf-8")
    return subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip


@pytest.mark.slow
def test_files_run_in_the_order_given(tmp_path: Path) -> None:
    answer = run_pytest(tmp_path, "--until", "inf", "test_b.py", "test_a.py")
    assert answer.returncode == 0
    assert answer.stdout.index("test_b.py::test_it") < answer.stdout.index("test_a.py::test_it")
    assert "left out" not in answer.stdout


@pytest.mark.slow
def test_what_the_time_does_not_suffice_for_is_said(tmp_path: Path) -> None:
    answer = run_pytest(tmp_path, "--until", "1", "test_b.py", "test_a.py")
    assert answer.returncode == 0, "time that is up is no failure"
    assert "2 tests were left out" in answer.stdout


def test_every_hook_of_pre_commit_is_local_and_names_a_check() -> None:
    text = (ROOT / ".pre-commit-config.yaml").read_text("utf-8")
    assert set(re.findall(r"repo: (.+)", text)) == {"local"}
    assert set(re.findall(r"language: (.+)", text)) == {"system"}
    entries = re.findall(r"entry: (.+)", text)
    words = [shlex.split(entry) for entry in entries]
    assert len(words) == text.count("- id:")
    assert all(entry[:4] == ["python3", "start.py", "check", "--only"] for entry in words)
    assert {entry[4] for entry in words} == set(check.ALONE)


def test_one_check_alone_passes_on_its_code(monkeypatch: pytest.MonkeyPatch) -> None:
    ends = {"well": ["-c", "pass"], "ill": ["-c", "raise SystemExit(3)"]}
    monkeypatch.setattr(check, "ALONE", ends)
    assert check.main(["--only", "well"]) == 0
    assert check.main(["--only", "ill"]) == 3
