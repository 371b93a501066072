"""The command line itself: help, versions, and words that are no command."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from studio import __version__
from studio.cli.app import COMMANDS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Answer


@pytest.mark.parametrize("words", [[], ["--help"], ["help"]])
def test_help_lists_every_command_with_a_whole_sentence(
    glassbox: Callable[..., Answer], words: list[str]
) -> None:
    text = " ".join(glassbox(*words).out.split())
    for name in COMMANDS:
        assert f" {name} " in text
    assert text.count("...") == 1, "only where the usage says [ARGS]..."
    assert "write model and instruction files." in text


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself(glassbox: Callable[..., Answer], name: str) -> None:
    found = glassbox(name, "--help").out
    assert found.startswith(f"Usage: glassbox {name} ")
    assert glassbox("help", name).out == found


def test_version_is_the_package_version(glassbox: Callable[..., Answer]) -> None:
    assert glassbox("--version").out == f"glassbox {__version__}\n"


def test_misspelled_command_is_answered_with_the_one_meant(refused: Callable[..., str]) -> None:
    assert refused("trian", "x") == "there is no command 'trian'\n  hint: glassbox train\n"
    assert "glassbox --help" in refused("frobnicate")
    assert "there is no command ''" in refused("")


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["train", "digits-cn"], "digits-cnn"),
        (["train", "pest.glassbox"], "pets.glassbox"),
        (["train", "zoo/pest.glassbox"], "zoo/pets.glassbox"),
        (["compile", "iris", "--mode", "trian"], "train"),
        (["export", "iris", "--format", "gbiasm", "-o", "x"], "gbasm"),
        (["train", "iris", "--backend", "cpuu"], "cpu"),
    ],
)
def test_a_misspelled_name_is_answered_with_the_one_meant(
    refused: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    words: list[str], meant: str,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    (tmp_path / "zoo").mkdir()
    for place in ("pets.glassbox", "zoo/pets.glassbox"):
        (tmp_path / place).write_text("{}")
    assert f"hint: did you mean {meant}" in refused(*words)


def test_project_alone_is_for_the_window(refused: Callable[..., str]) -> None:
    assert "came without a window" in refused("a.glassbox")
    assert "came without a window" in refused("--reset-layout")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["train"], "Missing argument 'PROJECT'"),
        (["train", "iris", "--nonsense"], "No such option: --nonsense"),
        (["train", "iris", "--epochs", "many"], "--epochs"),
        (["train", "iris", "--epochs", "0"], "epochs: expected a whole number from 1"),
        (["train", "iris", "--epochs", "9" * 30], "epochs: expected a whole number from 1"),
        (["train", "iris", "--seed", "-1"], "seed: expected a whole number from 0"),
        (["train", "iris", "--backend", "cuda"], "expected one of auto, gl, cpu, got 'cuda'"),
        (["evaluate", "iris", "--backend", "cuda"], "expected one of auto, gl, cpu, got 'cuda'"),
        (["compile", "iris", "-O", "7"], "-O"),
        (["compile", "iris", "--mode", "x"], "--mode out of train, evaluate, infer, got 'x'"),
        (
            ["compile", "iris", "--target", "x"],
            "out of cpu, gl-hardware, gl-software, gl, got",
        ),
        (
            ["compile", "iris", "-o", "a.txt"],
            "'a.txt': expected one of .gbi, .gbasm",
        ),
        (["profile", "iris", "--steps", "0"], "--steps"),
        (["export", "iris", "--format", "gbi"], "Missing option '-o'"),
        (["export", "iris", "--format", "pmml", "-o", "x"], "got 'pmml'"),
        (["exec", "x.gbi"], "Missing option '--input'"),
        (["exec", "x.gbi", "--input", "x.npy"], "--output FILE.npy"),
        (["predict", "iris", "x.csv", "--output", "x.doc"], "expected .npy, .npz, .csv"),
        (["doctor", "extra"], "extra"),
        (["isa", "FROB"], "there is no instruction 'FROB'"),
        (["isa", "ADD", "--markdown"], "--markdown prints the whole manual"),
    ],
)
def test_wrong_words_are_refused_in_one_sentence(
    here: Path, refused: Callable[..., str], words: list[str], expected: str
) -> None:
    assert expected in refused(*words)


def test_usage_mistake_points_at_the_help_of_its_command(refused: Callable[..., str]) -> None:
    assert "(see: glassbox train --help)" in refused("train")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("nothere", "no such project"),
        ("nothere.glassbox", "no such project"),
        ("two", "expected one .glassbox file in the folder, got 2"),
        ("empty", "expected one .glassbox file in the folder, got 0"),
        ("empty.glassbox", "the file is empty"),
        ("list.glassbox", "not a Glassbox project"),
        ("future.glassbox", "update Glassbox"),
        ("binary.glassbox", "UTF-8"),
    ],
)
def test_what_is_no_project_is_refused(
    here: Path, refused: Callable[..., str], words: str, expected: str
) -> None:
    for folder, names in (("two", ("a", "b")), ("empty", ())):
        (here / folder).mkdir()
        for name in names:
            (here / folder / f"{name}.glassbox").write_text("{}", encoding="utf-8")
    (here / "empty.glassbox").write_bytes(b"")
    (here / "list.glassbox").write_bytes(b"[1, 2]")
    (here / "future.glassbox").write_bytes(b'{"format": "glassbox-project", "version": 99}')
    (here / "binary.glassbox").write_bytes(bytes(range(128, 256)))
    assert expected in refused("compile", words)


@pytest.mark.slow
def test_command_line_loads_neither_qt_nor_the_engine_before_it_must() -> None:
    code = (
        "import sys; from studio.cli.app import main; early = set(sys.modules)\n"
        "main(['isa', 'ADD'])\n"
        "heavy = {'PySide6', 'pyqtgraph', 'moderngl'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
        "assert not {'numpy', 'typer', 'rich'} & early"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert answer.returncode == 0, answer.stderr


@pytest.mark.parametrize("words", [("isa", "ADD"), ("compile", "iris"), ("doctor",)])
def test_a_wrong_debug_level_is_refused_before_any_work(
    refused: Callable[..., str], monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.setenv("GLASSBOX_DEBUG", "many")
    assert "expected 0 to 4, got 'many'" in refused(*words)


def test_standard_output_stays_an_answer_at_every_debug_level(
    glassbox: Callable[..., Answer], here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GLASSBOX_DEBUG", "4")
    answer = glassbox("evaluate", "iris", "--backend", "cpu", "--json")
    assert set(answer.json["test"]) == {"loss", "accuracy"}
    assert "iris evaluate in batches of" in answer.err
    compiled = glassbox("compile", "iris", "--target", "gl-hardware", "--json")
    assert compiled.json["name"] == "iris"
    assert "#version 430" in compiled.err
