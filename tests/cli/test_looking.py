"""``profile``, ``doctor`` and ``isa``."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from studio.cli.commands import profiling
from studio.engine.isa import ops
from studio.engine.isa.instruction import GradInstruction, all_instructions
from studio.engine.profiler.events import KernelEvent, Profile
from studio.engine.profiler.totals import Peaks
from studio.samples import sample_root

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Answer

ALL_FAMILIES = ops.__all__
MLP = sample_root() / "digits-mlp"


@pytest.mark.slow
def test_profile_names_every_kernel_of_the_step(
    glassbox: Callable[..., Answer], tmp_path: Path
) -> None:
    trace = tmp_path / "t.json"
    words = ("profile", MLP, "--backend", "cpu", "--steps", 2, "--roofline")
    found = glassbox(*words, "--json", "--trace", trace).json
    kernels = {k["mnemonic"]: k["kernel"] for k in found["kernels"]}
    assert kernels["LINEAR+RELU"] == "numpy: linear + relu"
    assert kernels["SOFTMAX_CE"] == "numpy: softmax_ce"
    assert sum(k["share"] for k in found["kernels"]) == pytest.approx(1)
    assert found["peaks"]["gflops"] > 0
    assert found["steps"] == 2
    events = json.loads(trace.read_text("utf-8"))["traceEvents"]
    timed = [event for event in events if event["ph"] == "X"]
    steps = [event for event in timed if event["name"].startswith("step ")]
    assert len(steps) == 2
    assert len(timed) == 2 + 2 * len(found["kernels"])
    assert all(event["dur"] >= 0 for event in timed)


def test_profile_table_is_whole_in_a_pipe(glassbox: Callable[..., Answer]) -> None:
    out = glassbox("profile", MLP, "--backend", "cpu", "--steps", 1).out
    assert "numpy: grads_loss_sparse_ce" in out
    assert "…" not in out
    assert re.search(r"^by layer:$", out, re.MULTILINE)
    assert not re.search(r" $", out, re.MULTILINE)


def test_profile_goes_by_medians_where_one_call_was_held_up(
    glassbox: Callable[..., Answer], monkeypatch: pytest.MonkeyPatch
) -> None:
    def call(step: int, index: int, name: str, micros: float) -> KernelEvent:
        return KernelEvent(
            step, "forward", index, name, name.lower(), (name[0],), 0.0, micros, 4_000_000, 4000
        )

    times = {"SLOW": (40.0, 41.0, 39.0, 40.0, 40.0), "QUICK": (10.0, 9.0, 11.0, 10.0, 19_960.0)}
    events = tuple(
        call(step, index, name, micros)
        for index, (name, each) in enumerate(times.items())
        for step, micros in enumerate(each)
    )
    made = Profile("a device", "wall clock", 5, 21_000.0, events)
    monkeypatch.setattr(profiling.Trainer, "profile", lambda *_: made)
    monkeypatch.setattr(profiling, "measure_peaks", lambda *_: Peaks(gflops=400.0, gbytes=1e6))
    words = ("profile", MLP, "--backend", "cpu", "--roofline")
    head, _, titles, slow, quick, _, _, layers, *sums = glassbox(*words).out.splitlines()[:10]
    assert "4200 µs a step on average, 50 µs of kernels by medians" in head
    assert "median µs" in titles
    # 4e6 operations in 40 µs are 1e11 a second, a quarter of the peak.
    numbers = ["40.0", "80.0%", "100.0", "0.1"]
    assert slow.split()[2:] == ["SLOW", "S", "slow", *numbers, "arithmetic", "25%"]
    assert quick.split()[5:7] == ["10.0", "20.0%"]
    assert "µs/step" in layers
    assert [line.split() for line in sums] == [["S", "40.0", "80.0%"], ["Q", "10.0", "20.0%"]]
    kernels = glassbox(*words, "--json").json["kernels"]
    assert [(k["mnemonic"], k["median_us"]) for k in kernels] == [("SLOW", 40.0), ("QUICK", 10.0)]
    assert [k["mean_us"] for k in kernels] == [40.0, 4000.0]


@pytest.mark.parametrize(("gbytes", "doubtful"), [(1e-4, True), (1e9, False)])
def test_profile_raises_a_peak_that_kernels_are_above_and_says_so(
    glassbox: Callable[..., Answer],
    monkeypatch: pytest.MonkeyPatch,
    gbytes: float,
    doubtful: bool,
) -> None:
    monkeypatch.setattr(profiling, "measure_peaks", lambda *_: Peaks(1e6, gbytes))
    words = ("profile", MLP, "--backend", "cpu", "--steps", 5, "--roofline")
    assert ("the peak may be wrong: " in glassbox(*words).out) == doubtful
    found = glassbox(*words, "--json").json
    shares = [k["peak_share"] for k in found["kernels"] if k["peak_share"] is not None]
    assert shares
    assert max(shares) <= 1.0
    assert bool(found["peaks"]["doubt"]) == doubtful


@pytest.mark.gl
@pytest.mark.slow
def test_profile_through_opengl_names_its_kernels(glassbox: Callable[..., Answer]) -> None:
    found = glassbox("profile", MLP, "--backend", "gl", "--steps", 1, "--json").json
    assert found["clock"]
    assert all(k["kernel"] for k in found["kernels"])


@pytest.mark.parametrize("place", ["no folder/t.json", "/proc/t.json", "."])
def test_trace_that_cannot_be_written_is_refused(
    refused: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ("profile", MLP, "--backend", "cpu", "--steps", 1, "--trace", place)
    assert "cannot write the file" in refused(*words)


@pytest.mark.slow
@pytest.mark.gl
def test_doctor_says_the_same_to_people_and_programs(glassbox: Callable[..., Answer]) -> None:
    found = glassbox("doctor", "--json").json
    text = glassbox("doctor").out
    for name, value in found["facts"].items():
        assert re.search(rf"^{re.escape(name)} +{re.escape(value)}$", text, re.MULTILINE)
    assert found["cpu"]["matrix product, GFLOP/s"] > 0
    assert "everything the kernels rely on holds" in text


@pytest.mark.slow
def test_doctor_without_opengl_says_why(
    glassbox: Callable[..., Answer], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Missing:
        ok = False
        problem = "libEGL is missing."
        hint = "Install it."

    monkeypatch.setattr("studio.cli.commands.doctor.check_libraries", Missing)
    answer = glassbox("doctor")
    assert "OpenGL backend: not available\nlibEGL is missing. Install it.\n" in answer.out
    assert glassbox("doctor", "--json").json["opengl"] is None


def test_manual_lists_and_explains_every_instruction(glassbox: Callable[..., Answer]) -> None:
    text = glassbox("isa").out
    entries = {entry["mnemonic"]: entry for entry in glassbox("isa", "--json").json}
    for cls in all_instructions():
        assert cls.mnemonic in entries
        if not issubclass(cls, GradInstruction):
            assert re.search(rf"^ *{cls.code}  {cls.mnemonic} ", text, re.MULTILINE)
    assert glassbox("isa", "conv2d").out.startswith("### CONV2D\n")
    assert glassbox("isa", "CONV2D", "--json").json == entries["CONV2D"]
    assert "### CONV2D" in glassbox("isa", "--markdown").out


def test_an_instruction_that_is_none_is_answered_with_the_nearest(
    refused: Callable[..., str],
) -> None:
    assert "did you mean RELU" in refused("isa", "RELUU")
    assert "did you mean" not in refused("isa", "QQQQ")
