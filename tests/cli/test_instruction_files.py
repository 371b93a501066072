"""``asm``, ``dis``, ``exec``, ``export`` and ``import``."""

from __future__ import annotations

import random
import re
import shutil
from typing import TYPE_CHECKING

import numpy as np
import pytest

from studio.cli.app import main
from studio.engine.runtime import free_memory

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Answer

CPU = ("--backend", "cpu")


@pytest.fixture(scope="module")
def exported_once(trained_once: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("exported") / "net.gbi"
    words = ("export", str(trained_once / "digits-mlp"), "--format", "gbi", "-o", str(path))
    assert main(list(words)) == 0
    return path


@pytest.fixture
def gbi(exported_once: Path, here: Path) -> Path:
    """The trained digits network as an instruction file with weights, the test's own to change."""
    return shutil.copy(exported_once, here / "net.gbi")


@pytest.mark.slow
def test_text_and_bytes_turn_into_one_another_without_loss(
    glassbox: Callable[..., Answer], here: Path, gbi: Path
) -> None:
    glassbox("dis", gbi, "net.gbasm")
    assert glassbox("dis", gbi).out == (here / "net.gbasm").read_text("utf-8")
    glassbox("asm", "net.gbasm", "again.gbi", "--weights", gbi)
    assert (here / "again.gbi").read_bytes() == gbi.read_bytes()
    glassbox("asm", "net.gbasm", "bare.gbi")
    assert glassbox("dis", "bare.gbi").out == glassbox("dis", gbi).out


@pytest.mark.slow
def test_sections_that_alternate_are_version_2_and_give_the_same_answers(
    glassbox: Callable[..., Answer],
    refused: Callable[..., str],
    here: Path,
    gbi: Path,
    rng: np.random.Generator,
) -> None:
    np.save("x.npy", rng.integers(0, 17, (3, 8, 8, 1)).astype(np.uint8))
    text = glassbox("dis", gbi).out
    before, relu, behind = re.split(r"(\nRELU.*\nEND.*\n)", text, maxsplit=1)
    text = f"{before}\n\n.section loss{relu}\n.section forward\n{behind}"
    (here / "old.gbasm").write_text(text, encoding="utf-8")
    said = refused("asm", "old.gbasm", "old.gbi")
    assert "section forward a second time needs version 2 of the format, the file says 1" in said
    text = text.replace(".glassbox 1", ".glassbox 2")
    (here / "new.gbasm").write_text(text, encoding="utf-8")
    glassbox("asm", "new.gbasm", "new.gbi", "--weights", gbi)
    assert glassbox("dis", "new.gbi").out == text
    for name in (gbi, "new.gbi"):
        glassbox("exec", name, "--input", "x.npy", "--output", f"{name}.npy", *CPU)
    assert (here / "new.gbi.npy").read_bytes() == (here / "net.gbi.npy").read_bytes()


@pytest.mark.parametrize("rows", [0, 1, 2, 255, 1000])
def test_any_number_of_rows_gives_what_predict_gives(
    glassbox: Callable[..., Answer], gbi: Path, rng: np.random.Generator, rows: int
) -> None:
    np.save("x.npy", rng.integers(0, 17, (rows, 8, 8, 1)).astype(np.uint8))
    said = glassbox("exec", gbi, "--input", "x.npy", "--output", "y.npy", *CPU).out
    assert said == f"y.npy: float32[{rows}, 10]\n"
    found = np.load("y.npy")
    assert found.shape == (rows, 10)
    if rows:
        glassbox("predict", "digits-mlp", "x.npy", "--output", "p.npy", *CPU)
        np.testing.assert_allclose(found, np.load("p.npy"), atol=1e-5)


@pytest.mark.parametrize("shape", [(12, 8, 8), (12, 1, 8, 8), (12, 8, 8, 1, 1)])
def test_dimensions_of_one_do_not_matter(
    glassbox: Callable[..., Answer], gbi: Path, digits: np.ndarray, shape: tuple[int, ...]
) -> None:
    found = []
    for values in (digits, digits.reshape(shape)):
        np.save("x.npy", values)
        found.append(glassbox("exec", gbi, "--input", "x.npy", "--json", *CPU).json)
    assert found[0] == found[1]
    assert found[0]["shape"] == [12, 10]


def test_a_tiny_program_that_needs_more_memory_than_there_is_is_refused(
    glassbox: Callable[..., Answer], here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(free_memory, "free_memory", lambda: 512 << 20)
    (here / "big.gbasm").write_text(
        '.glassbox 1\n.program "big" infer\n.tensor 0x1 "x" float32 [N,1] input\n'
        '.tensor 0x2 "y" float32 [N,67108864] activation\n.input 0x1\n.output 0x2\n'
        ".section forward\nFILL 0x2 1\n.end\n"
    )
    np.save("x.npy", np.zeros((1, 1), np.float32))
    words = ("big.gbasm", "--input", "x.npy", "--output", "y.npy", *CPU)
    told = glassbox("exec", *words, code=2).err
    assert "running 'big' on 1 row needs" in " ".join(told.split())


@pytest.mark.slow
def test_double_precision_is_taken_as_single(
    glassbox: Callable[..., Answer], here: Path, rng: np.random.Generator
) -> None:
    glassbox("export", "iris", "--format", "gbi", "-o", "iris.gbi")
    rows = rng.normal(size=(5, 4))
    found = []
    for values in (rows, rows.astype(np.float32)):
        np.save("x.npy", values)
        found.append(glassbox("exec", "iris.gbi", "--input", "x.npy", "--json", *CPU).json)
    assert found[0] == found[1]


def test_rows_may_come_from_an_archive(
    glassbox: Callable[..., Answer],
    refused: Callable[..., str],
    gbi: Path,
    digits: np.ndarray,
) -> None:
    np.save("x.npy", digits)
    np.savez("one.npz", anything=digits)
    np.savez("named.npz", y=np.zeros(12), x=digits)
    np.savez("two.npz", a=digits, b=digits)
    first, second, third = (
        glassbox("exec", gbi, "--input", name, "--json", *CPU).json
        for name in ("x.npy", "one.npz", "named.npz")
    )
    assert first == second == third
    text = refused("exec", gbi, "--input", "two.npz", "--json", *CPU)
    assert "there is no array 'x': it holds 'a', 'b'" in text


@pytest.mark.slow
def test_answers_that_are_no_numbers_are_null_in_json(
    glassbox: Callable[..., Answer], here: Path
) -> None:
    glassbox("export", "iris", "--format", "gbi", "-o", "iris.gbi")
    np.save("x.npy", np.full((1, 4), np.nan, np.float32))
    found = glassbox("exec", "iris.gbi", "--input", "x.npy", "--json", *CPU).json
    assert found["outputs"] == [[None, None, None]]


def test_rows_that_do_not_fit_are_refused(
    refused: Callable[..., str], here: Path, gbi: Path, digits: np.ndarray
) -> None:
    np.save("a.npy", digits.astype(np.float32))
    np.save("b.npy", digits.reshape(12, 64))
    np.save("c.npy", digits[0])
    np.save("d.npy", np.uint8(3))
    np.save("e.npy", np.array(["x"]))
    (here / "f.npy").write_bytes((here / "b.npy").read_bytes()[:300])
    (here / "g.npy").write_bytes(b"")
    for name, expected in {
        "a": "rows must be uint8, got float32",
        "b": "rows must have shape [N,8,8,1], got [12,64]",
        "c": "rows must have shape [N,8,8,1], got [8,8,1]",
        "d": "rows must have shape [N,8,8,1], got []",
        "e": "unsupported dtype",
        "f": "expected 768 bytes",
        "g": "not a npy file",
        "h": "[h.npy]",
    }.items():
        words = ("exec", gbi, "--input", f"{name}.npy", "--output", "y.npy", *CPU)
        assert expected in refused(*words)
    assert not (here / "y.npy").exists()


def test_files_that_cannot_be_run_are_refused(
    glassbox: Callable[..., Answer], refused: Callable[..., str], here: Path, digits: np.ndarray
) -> None:
    np.save("x.npy", digits)
    glassbox("compile", "digits-mlp", "-o", "train.gbi")
    glassbox("compile", "digits-mlp", "--mode", "infer", "-o", "bare.gbi")
    words = ("--input", "x.npy", "--output", "y.npy", *CPU)
    assert "expected an inference program" in refused("exec", "train.gbi", *words)
    assert "carries no weights" in refused("exec", "bare.gbi", *words)
    assert "[nothere.gbi]" in refused("exec", "nothere.gbi", *words)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("FROB 0x0 0x1", "FROB"),
        ("RELU 0x0", "RELU"),
        ("RELU 0x0 0xffff", "0xffff"),
        ("LINEAR 0x0 0x0 0x0 0x0", "LINEAR"),
        ("RELU zero one", "RELU: 2 operands"),
    ],
)
def test_damaged_listing_is_refused_with_what_is_wrong(
    refused: Callable[..., str],
    glassbox: Callable[..., Answer],
    here: Path,
    gbi: Path,
    line: str,
    expected: str,
) -> None:
    good = glassbox("dis", gbi).out
    (here / "bad.gbasm").write_text(good.replace(".end", f"{line}\n.end"), encoding="utf-8")
    assert expected in refused("asm", "bad.gbasm", "bad.gbi")
    assert not (here / "bad.gbi").exists()


@pytest.mark.slow
def test_damaged_files_never_end_in_more_than_a_sentence(
    capsys: pytest.CaptureFixture[str], glassbox: Callable[..., Answer], here: Path, gbi: Path
) -> None:
    pick = random.Random(5)
    glassbox("dis", gbi, "net.gbasm")
    np.save("x.npy", np.zeros((1, 8, 8, 1), np.uint8))
    runs = {
        "net.gbasm": ["asm", "bad", "out.gbi"],
        "net.gbi": ["exec", "bad", "--input", "x.npy", "--json", *CPU],
    }
    refusals = 0
    for name, words in runs.items():
        whole = (here / name).read_bytes()
        for _ in range(60):
            place = pick.randrange(len(whole))
            cut = pick.choice([0, 1, 7, len(whole)])
            filling = bytes(pick.randrange(256) for _ in range(pick.choice([0, 1, 4])))
            (here / "bad").write_bytes(whole[:place] + filling + whole[place + cut :])
            code = main(words)
            written = capsys.readouterr()
            assert code in (0, 2)
            assert "Traceback" not in written.err
            assert (code == 2) == written.err.startswith("glassbox: ")
            refusals += code == 2
    assert refusals > 60


@pytest.mark.parametrize("name", ["net.gbasm", "x.npy", "folder", "nothere", "/dev/null"])
def test_what_is_no_instruction_file_is_not_disassembled(
    refused: Callable[..., str], glassbox: Callable[..., Answer], here: Path, gbi: Path, name: str
) -> None:
    glassbox("dis", gbi, "net.gbasm")
    np.save("x.npy", np.zeros(3))
    (here / "folder").mkdir()
    assert f"[{name}]" in refused("dis", name)


def test_each_form_given_for_the_other_says_what_it_is_and_what_to_type(
    refused: Callable[..., str], glassbox: Callable[..., Answer], here: Path, gbi: Path
) -> None:
    said = refused("asm", "net.gbi", "again.gbi")
    assert "this is a binary instruction file (.gbi), not a listing" in said
    command = said.rpartition("glassbox ")[2].split()
    assert command == ["dis", "net.gbi", "net.gbasm"]
    glassbox(*command)
    assert "glassbox asm" in refused("dis", "net.gbasm")
    gbi.rename(here / "my net.gbi")
    assert "glassbox dis 'my net.gbi' 'my net.gbasm'" in refused("asm", "my net.gbi", "x.gbi")


def test_a_section_without_instructions_stays(
    glassbox: Callable[..., Answer], here: Path, gbi: Path
) -> None:
    text = glassbox("dis", gbi).out.rstrip("\n")
    edited = text.removesuffix(".end") + "\n.section loss\n\n.section metrics\n.end\n"
    (here / "edited.gbasm").write_text(edited, encoding="utf-8")
    glassbox("asm", "edited.gbasm", "edited.gbi")
    again = glassbox("dis", "edited.gbi").out
    assert again.split() == edited.split()


@pytest.mark.slow
def test_an_export_says_which_weights_it_wrote(glassbox: Callable[..., Answer], here: Path) -> None:
    first = glassbox("train", "iris", "--epochs", 2, *CPU, "--json").json["run"]
    second = glassbox("train", "iris", "--epochs", 3, *CPU, "--json").json["run"]
    words = ("export", "iris", "--format", "npz", "-o", "w.npz")
    said = glassbox(*words).out.splitlines()[-1]
    assert said == f"weights: epoch 3, final.safetensors, run {second}"
    assert glassbox(*words, "--run", first).out.splitlines()[-1].endswith(f"run {first}")
    weights = glassbox(*words, "--run", first, "--json").json["weights"]
    assert (weights["run"], weights["epoch"]) == (first, 2)
    assert weights["checkpoint"].endswith("final.safetensors")


@pytest.mark.slow
@pytest.mark.parametrize("form", ["safetensors", "npz"])
def test_exported_weights_come_back_as_a_run(
    glassbox: Callable[..., Answer], here: Path, form: str
) -> None:
    told = glassbox("export", "digits-mlp", "--format", form, "-o", f"w.{form}", "--json").json
    assert told["difference"] <= 1e-5
    before = glassbox("evaluate", "digits-mlp", "--json", *CPU).json
    glassbox("train", "digits-mlp", "--epochs", 1, "--seed", 3, *CPU)
    for project in ("digits-mlp", "digits-mlp/digits-mlp.glassbox"):
        run = glassbox("import", f"w.{form}", "-o", project, "--json").json["run"]
        after = glassbox("evaluate", "digits-mlp", "--json", *CPU).json
        assert (after["run"], after["test"]) == (run, before["test"])


@pytest.mark.slow
def test_foreign_weights_are_refused(
    glassbox: Callable[..., Answer], refused: Callable[..., str], here: Path, gbi: Path
) -> None:
    glassbox("export", "digits-mlp", "--format", "safetensors", "-o", "w.safetensors")
    assert "there is nothing for" in refused("import", "w.safetensors", "-o", "iris")
    np.savez("x.npz", x=np.zeros(3))
    assert "there is nothing for" in refused("import", "x.npz", "-o", "iris")
    for name, wanted in (("net.gbi", "a model as .keras"), ("iris/iris.glassbox", "weights as .s")):
        assert f"expected {wanted}" in refused("import", name, "-o", "iris")
    (here / "empty").write_bytes(b"")
    for name in ("empty", "nothere", "iris"):
        assert f"[{name}]" in refused("import", name, "-o", "iris")
    whole = (here / "w.safetensors").read_bytes()
    (here / "cut.safetensors").write_bytes(whole[:-9])
    assert "[cut.safetensors]" in refused("import", "cut.safetensors", "-o", "digits-mlp")
    assert "no such project" in refused("import", "w.safetensors", "-o", "digits-cnn")
    assert len(list(here.glob("*/*.runs/*"))) == 3, "a refused import leaves no run"


def test_an_export_does_not_take_the_place_of_its_project(
    refused: Callable[..., str], here: Path
) -> None:
    project = here / "iris" / "iris.glassbox"
    before = project.read_bytes()
    text = refused("export", "iris", "--format", "npz", "-o", "iris/iris.glassbox")
    assert "the project would be overwritten" in text
    assert project.read_bytes() == before


def test_export_that_cannot_be_written_is_refused(refused: Callable[..., str], here: Path) -> None:
    (here / "folder").mkdir()
    for place in ("folder", "no folder/x", "/proc/x"):
        text = refused("export", "iris", "--format", "npz", "-o", place)
        assert "cannot write the file" in text
