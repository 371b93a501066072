"""``compile --kernels``: what runs each line, without a device."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest

from benchmarks.ours import task_of
from benchmarks.workloads import WORKLOADS
from studio.engine.compiler.plan_memory import plan_memory
from studio.engine.compiler.target import TARGETS
from studio.engine.cpu.machine.toolchain import has_compiler
from studio.engine.train.data.samples import Samples
from studio.engine.train.listing.kernel_listing import KernelListing
from studio.engine.train.network.programs import Programs
from studio.samples import sample_names, sample_root

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cli.conftest import Answer

MLP = sample_root() / "digits-mlp"
CALLS = re.compile(r"^ {8}\S", re.MULTILINE)
OPENGL = [name for name in TARGETS if name != "cpu"]


def needs_compiler(target: str) -> None:
    if target == "cpu" and not has_compiler():
        pytest.skip("there is no Numba here")


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", ["digits-mlp", "digits-cnn", "digits-resnet"])
def test_kernels_of_a_sample_are_the_golden_ones(
    glassbox: Callable[..., Answer], name: str, target: str, golden: Callable[[str, str], None]
) -> None:
    needs_compiler(target)
    out = glassbox("compile", sample_root() / name, "--kernels", "--target", target).out
    golden(f"kernels/{name}-{target}.txt", out)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", ["W2", "W3"])
def test_kernels_of_a_measured_network_are_the_golden_ones(
    name: str, target: str, golden: Callable[[str, str], None]
) -> None:
    needs_compiler(target)
    work = WORKLOADS[name]
    batch = work.batches_gpu[0]
    x, y = np.zeros((batch, *work.shape), np.float32), np.zeros(batch, np.int32)
    task, kind = task_of(work, batch, Samples((x,), (y,))), TARGETS[target]
    program = Programs(task).compile("train", 2, kind)
    plan = plan_memory(program, batch, batch, kind)
    listing = KernelListing.of(program, task, kind, plan)
    golden(f"kernels/{name}-{target}.txt", listing.text())


def test_kernels_in_program_order_are_the_golden_ones(
    glassbox: Callable[..., Answer], golden: Callable[[str, str], None]
) -> None:
    words = ("compile", sample_root() / "iris", "--target", "gl-software", "--kernels")
    golden("kernels/iris-in-order.txt", glassbox(*words, "--in-order").out)


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("mode", ["train", "evaluate", "infer"])
@pytest.mark.parametrize("name", sample_names())
def test_every_line_has_its_calls_in_text_and_json(
    glassbox: Callable[..., Answer], name: str, mode: str, target: str
) -> None:
    words = ("compile", sample_root() / name, "--mode", mode, "--target", target, "--kernels")
    found = glassbox(*words, "--json").json
    out = glassbox(*words).out
    lines = found["lines"]
    assert all(line["calls"] for line in lines)
    calls = [call for line in lines for call in line["calls"]]
    assert len(CALLS.findall(out)) == len(calls)
    texts = [text for line in lines for text in line["text"]]
    assert [line["index"] for line in lines] == sorted({line["index"] for line in lines})
    assert sum(line["last"] - line["index"] + 1 for line in lines) == len(texts)
    for text in texts:
        assert text in out
    for entry in found["host"]:
        assert re.search(rf"^  {entry['action']} +{re.escape(entry['what'])} ", out, re.MULTILINE)
    if target == "cpu":
        assert all(call["threads"] >= 1 and call["groups"] is None for call in calls)
        return
    assert sorted(call["turn"] for call in calls) == list(range(len(calls)))
    assert max(call["level"] for call in calls) + 1 == found["levels"]
    assert sum(call["barrier"] for call in calls) == found["levels"]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("level", [0, 1])
def test_every_line_has_its_calls_however_little_is_optimised(
    glassbox: Callable[..., Answer], level: int, target: str
) -> None:
    words = ("compile", sample_root() / "digits-resnet", "-O", level, "--target", target)
    found = glassbox(*words, "--kernels", "--json").json
    assert all(line["calls"] for line in found["lines"])


@pytest.mark.parametrize("target", OPENGL)
def test_program_order_takes_more_barriers_for_the_same_kernels(
    glassbox: Callable[..., Answer], target: str
) -> None:
    words = ("compile", sample_root() / "digits-resnet", "--target", target, "--kernels", "--json")
    by_level, in_order = glassbox(*words).json, glassbox(*words, "--in-order").json
    kernels = [
        [(call["name"], call["variant"], call["groups"]) for line in found["lines"]
         for call in line["calls"]]
        for found in (by_level, in_order)
    ]  # fmt: skip
    assert kernels[0] == kernels[1]
    turns = [call["turn"] for line in in_order["lines"] for call in line["calls"]]
    assert turns == list(range(len(turns)))
    assert in_order["in_order"]
    assert in_order["levels"] > by_level["levels"]
    assert not in_order["steps_join"]


def test_sources_in_json_are_those_of_the_calls(glassbox: Callable[..., Answer]) -> None:
    words = ("compile", MLP, "--target", "gl-hardware", "--kernels", "--json")
    assert "sources" not in glassbox(*words).json
    found = glassbox(*words, "--source").json
    out = glassbox(*words[:-1], "--source").out
    calls = [call for line in found["lines"] for call in line["calls"]]
    assert {call["source"] for call in calls} == set(range(len(found["sources"])))
    for call in calls:
        text = found["sources"][call["source"]]
        assert text in out
        assert re.search(rf"#{call['turn']} .* source {call['source']}$", out, re.MULTILINE)
        assert text.startswith("#version 430\n")
        x, y, z = call["local"]
        assert f"local_size_x = {x}, local_size_y = {y}, local_size_z = {z}" in text


def test_old_name_of_the_target_means_gpus(glassbox: Callable[..., Answer]) -> None:
    words = ("compile", MLP, "--kernels", "--target")
    assert glassbox(*words, "gl").out == glassbox(*words, "gl-hardware").out


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--source",), "--source goes with --kernels"),
        (("--in-order", "--passes"), "--in-order goes with --kernels"),
        (("--kernels", "--source"), "--source is for OpenGL"),
        (("--kernels", "--in-order", "--target", "cpu"), "--in-order is for OpenGL"),
        (("--kernels", "--passes"), "--kernels and --passes cannot be combined"),
        (("--kernels", "--plan"), "--kernels and --plan cannot be combined"),
        (("--kernels", "-o", "a.gbi"), "--kernels and -o cannot be combined"),
        (("--kernels", "--target", "vulkan"), "expected --target out of cpu, gl-hardware"),
    ],
)
def test_options_that_do_not_go_together_are_refused(
    refused: Callable[..., str], words: tuple[str, ...], complaint: str
) -> None:
    assert complaint in refused("compile", MLP, *words)


@pytest.mark.slow
def test_nothing_of_a_device_or_a_window_is_loaded() -> None:
    code = (
        "import sys\n"
        "from studio.cli.app import main\n"
        f"assert main(['compile', {str(MLP)!r}, '--kernels', '--target', 'gl-hardware']) == 0\n"
        "assert not {'moderngl', 'glcontext', 'PySide6', 'numba'} & set(sys.modules)\n"
    )
    child = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                           timeout=300, check=False)  # fmt: skip
    assert child.returncode == 0, child.stderr
