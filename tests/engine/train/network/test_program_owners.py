"""Every line and tensor of every sample's programs can be traced to a layer, after every pass."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from studio.engine.compiler.target import CPU, GL, Target
from studio.engine.isa.program import Program
from studio.engine.train.network.programs import Programs
from studio.engine.train.project.project import Project
from studio.engine.train.project.task import Task

ROOT = Path(__file__).resolve().parents[4]
SAMPLES = sorted((ROOT / "projects").glob("*/*.glassbox"))
HOUSEKEEPING = {"data", "loss", "metrics", "update"}
GROUPS = HOUSEKEEPING | {"train", "eval", "raw", "batch"}
"""First words of the names of tensors that belong to no layer."""


@cache
def sample_task(path: Path) -> Task:
    return Task.of_project(Project.load(path))


def strangers(program: Program, layers: set[str]) -> list[str]:
    """Lines and tensors that belong to nothing in the graph."""
    lines = [
        f"line {index} {ins.mnemonic}: {ins.owners}"
        for _, index, ins in program.located()
        if not ins.owners or not layers | HOUSEKEEPING >= set(ins.owners)
    ]
    tensors = [
        f"tensor {tensor.name}: {tensor.layer!r}"
        for tensor in program.tensors.values()
        if tensor.layer not in layers and (tensor.layer or tensor.name.split("/")[0] not in GROUPS)
    ]
    return lines + tensors


@pytest.mark.parametrize("target", [CPU, GL], ids=["cpu", "gl"])
@pytest.mark.parametrize("mode", ["train", "evaluate", "infer"])
@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_every_line_and_tensor_belongs_somewhere(path: Path, mode: str, target: Target) -> None:
    task = sample_task(path)
    layers = set(task.graph.nodes)
    steps = Programs(task).passes(mode, 2, target)
    assert len(steps) > 5
    assert strangers(steps[0][1], layers) == []
    for name, _, after in steps:
        assert (name, strangers(after, layers)) == (name, [])


def test_a_line_or_tensor_of_nobody_is_noticed() -> None:
    task = sample_task(SAMPLES[0])
    layers = set(task.graph.nodes)
    program = Programs(task).program("infer")
    assert strangers(program, layers) == []
    first, *rest = program.section("forward")
    lost = program.with_sections(forward=(first.replace(owners=("ghost",)), *rest))
    assert len(strangers(lost, layers)) == 1
    named = next(t for t in program.tensors.values() if t.layer)
    moved = program.with_tensors(program.tensors.update([named.replace(layer="ghost")]))
    assert strangers(moved, layers) == [f"tensor {named.name}: 'ghost'"]
