"""``compile``: listings, passes, the memory plan, files."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from studio.engine.formats.gbi import load_gbi
from studio.engine.interop.file_format import Exportable, FileFormat
from studio.samples import sample_names, sample_root
from tests.engine.interop.formats_from_elsewhere import known_formats

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Answer

MLP = sample_root() / "digits-mlp" / "digits-mlp.glassbox"


def mnemonics(listing: str) -> list[str]:
    return re.findall(r"^ +\d+  ([A-Z0-9_]+)", listing, re.MULTILINE)


def test_plain_listing_is_the_network_line_by_line(glassbox: Callable[..., Answer]) -> None:
    out = glassbox("compile", MLP, "--mode", "infer", "-O", 0).out
    assert mnemonics(out) == [
        "NORMALIZE", "FLATTEN", "LINEAR", "RELU", "LINEAR", "RELU", "LINEAR", "SOFTMAX",
    ]  # fmt: skip
    assert re.search(r"LINEAR 0x2 0x3 0x1 0x4 +hidden1\n", out)
    assert re.search(r"^0x2 +hidden1/kernel +\[128,64\] +float32 +param$", out, re.MULTILINE)
    assert re.search(r"^0x1 +flatten/output +\[N,64\] +float32 +activation$", out, re.MULTILINE)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["train", "evaluate", "infer"])
@pytest.mark.parametrize("name", sample_names())
def test_every_sample_compiles_for_both_devices_and_says_the_same_in_json(
    glassbox: Callable[..., Answer], name: str, mode: str
) -> None:
    path = sample_root() / name
    for target in ("cpu", "gl"):
        words = ("compile", path, "--mode", mode, "--target", target, "--verify")
        found = glassbox(*words, "--json").json
        assert found["mode"] == mode
        text = glassbox(*words).out
        assert mnemonics(text) == [line["text"].split()[0] for line in found["instructions"]]
        assert f"one arena of {found['memory']['arena_bytes']:,} bytes" in text


def test_memory_plan_keeps_what_is_needed_together_apart(glassbox: Callable[..., Answer]) -> None:
    memory = glassbox("compile", sample_root() / "digits-cnn", "--json").json["memory"]
    slots = memory["slots"]
    assert slots
    for number, a in enumerate(slots):
        assert a["offset"] + a["nbytes"] <= memory["arena_bytes"]
        for b in slots[:number]:
            if a["first"] <= b["last"] and b["first"] <= a["last"]:
                assert a["offset"] >= b["offset"] + b["nbytes"] or (
                    b["offset"] >= a["offset"] + a["nbytes"]
                )
    assert memory["unshared_bytes"] == sum(slot["nbytes"] for slot in slots)
    # Weights and biases of two convolutions and two dense layers, four bytes each.
    count = 9 * 16 + 16 + 9 * 16 * 32 + 32 + 512 * 64 + 64 + 64 * 10 + 10
    assert memory["persistent_bytes"]["param"] == 4 * count
    assert memory["persistent_bytes"]["slot"] == 2 * 4 * count


def test_memory_is_that_of_the_batch_that_will_run(
    glassbox: Callable[..., Answer], tmp_path: Path
) -> None:
    iris = tmp_path / "iris.glassbox"
    found = {}
    for batch in (120, 1 << 20):
        data = json.loads((sample_root() / "iris" / "iris.glassbox").read_text("utf-8"))
        data["training"]["batch_size"] = batch
        iris.write_text(json.dumps(data), "utf-8")
        found[batch] = glassbox("compile", iris, "--json").json["memory"]
    # It has 120 samples to train on.
    assert found[1 << 20]["batch"] == 120
    assert found[1 << 20] == found[120]


def test_plan_lists_every_storage_with_its_lifetime(glassbox: Callable[..., Answer]) -> None:
    slots = glassbox("compile", MLP, "--json").json["memory"]["slots"]
    out = glassbox("compile", MLP, "--plan").out
    rows = re.findall(r"^(\S+) +\S+ +(\d+) +(0x[0-9a-f]+)  (\d+)\.\.(\d+)$", out, re.MULTILINE)
    assert [(r[0], int(r[1]), int(r[2], 16), int(r[3]), int(r[4])) for r in rows] == [
        (s["storage"], s["nbytes"], s["offset"], s["first"], s["last"]) for s in slots
    ]
    assert "kept between runs: param " in out


@pytest.mark.slow
def test_plan_says_what_running_side_by_side_takes(glassbox: Callable[..., Answer]) -> None:
    words = ("compile", sample_root() / "digits-resnet", "--target", "gl-hardware")
    side, one = (glassbox(*words, *more, "--json").json["memory"] for more in ((), ("--in-order",)))
    arenas = {"side by side": side["arena_bytes"], "in program order": one["arena_bytes"]}
    assert arenas["in program order"] < arenas["side by side"]
    assert side["arena_bytes_by_order"] == one["arena_bytes_by_order"] == arenas
    assert (side["in_order"], one["in_order"]) == (False, True)
    said = ", ".join(f"{name} {nbytes:,}" for name, nbytes in arenas.items())
    for more in ((), ("--in-order",), ("--plan",), ("--plan", "--in-order")):
        assert f"arena with kernels {said} (bytes)" in glassbox(*words, *more).out
    on_cpu = glassbox("compile", sample_root() / "digits-resnet", "--plan").out
    assert "side by side" not in on_cpu


def test_passes_are_shown_as_diffs_that_add_up(glassbox: Callable[..., Answer]) -> None:
    out = glassbox("compile", MLP, "--passes").out
    steps = re.findall(r"^== (\w+): (\d+) -> (\d+) instructions", out, re.MULTILINE)
    assert [name for name, _, _ in steps if name == "differentiate"] == ["differentiate"]
    assert [b for _, _, b in steps[:-1]] == [a for _, a, _ in steps[1:]]
    final = glassbox("compile", MLP, "--json").json["instructions"]
    assert int(steps[-1][2]) == len(final)
    assert re.search(r"^\+GRADS_RELU ", out, re.MULTILINE)
    assert "-FLATTEN " in out


def test_files_hold_what_the_listing_shows(
    glassbox: Callable[..., Answer], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shown = glassbox("compile", MLP, "--json").json
    said = glassbox("compile", MLP, "-o", "a.gbasm").out
    count, tensors = len(shown["instructions"]), len(shown["tensors"])
    assert said == f"a.gbasm: {count} instructions, {tensors} tensors\n"
    found = glassbox("compile", MLP, "-o", "B.GBI", "--json").json
    assert found == {"path": "B.GBI", "instructions": count, "tensors": tensors}
    assert glassbox("dis", "B.GBI").out == (tmp_path / "a.gbasm").read_text("utf-8")
    assert load_gbi(tmp_path / "B.GBI").weights == {}


def test_a_format_of_programs_from_elsewhere_is_written(
    glassbox: Callable[..., Answer],
    refused: Callable[..., str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(FileFormat, "members", known_formats())

    class Words(FileFormat):
        name, title, ending, about = "words", "Words", ".words", "The words of a program."
        holds = "program"

        def write(self, model: Exportable, path: Path) -> None:
            path.write_text(" ".join(ins.mnemonic for ins in model.program[0]))

    class Needy(Words):
        name, ending = "needy", ".needy"

        def write(self, model: Exportable, path: Path) -> None:
            path.write_text(str(model.program[1]["hidden/kernel"]))

    glassbox("compile", MLP, "-o", "a.words")
    assert "LINEAR RELU" in (tmp_path / "a.words").read_text()
    text = refused("compile", MLP, "-o", "a.needy")
    assert "the format needy cannot write this model: KeyError: 'hidden/kernel'" in text
    assert ".gbi, .gbasm, .onnx, .needy, .words" in refused("compile", MLP, "-o", "a.npz")


@pytest.mark.parametrize("place", ["no folder/a.gbi", "folder.gbi", "/proc/a.gbi"])
def test_place_that_cannot_be_written_is_refused(
    refused: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.gbi").mkdir()
    assert "cannot write the file" in refused("compile", MLP, "-o", place)
