"""From what is selected to measured kernels and back, in other programs too."""

from __future__ import annotations

import pytest

from studio.engine.layers.convolution import Conv2D
from studio.engine.layers.dense import Dense
from studio.engine.layers.graph import LayerGraph
from studio.engine.layers.inputs import Input
from studio.engine.layers.pooling import MaxPooling2D
from studio.engine.layers.shaping import Flatten
from studio.engine.train.devices import open_backend
from studio.engine.train.loop.trainer import Trainer
from studio.session.compile.provenance import Provenance
from studio.session.compile.selection import Selection
from studio.session.core import entities
from studio.session.profiling.measurement import Measurement
from tests.engine.train.small_tasks import DIGITS, task


@pytest.mark.slow
def test_selecting_a_layer_marks_every_kernel_that_works_for_it(measured: Measurement) -> None:
    chosen = entities.node("norm1")
    every, primary = measured.marked(Selection((chosen,), chosen))
    rows = measured.rows("kernel and layer", None)
    marked = [row for row in rows if set(row.indices) & every]
    assert {row.section for row in marked} >= {"forward", "backward"}
    assert all("norm1" in row.owners or row.section == "update" for row in marked)
    assert {r.id for r in rows if "norm1" in r.owners} <= {r.id for r in marked}
    assert primary == every


@pytest.mark.slow
def test_an_instruction_inside_a_fused_group_marks_the_groups_time(measured: Measurement) -> None:
    program = measured.subject.program
    fused = [i for _, i, line in program.located() if line.mnemonic == "FUSE"]
    assert fused
    inside = entities.instruction(measured.provenance.key_of(fused[0] + 1))
    every, _ = measured.marked(Selection((inside,), inside))
    assert every == {fused[0]}


@pytest.mark.slow
def test_a_row_selects_kernels_of_its_instructions(measured: Measurement) -> None:
    row = next(
        r for r in measured.rows("kernel and layer", None)
        if "conv1" in r.owners and r.section == "forward"
    )  # fmt: skip
    chosen = measured.entities_of(row)
    assert all(entity.kind == "kernel" for entity in chosen)
    nodes = {n.key for e in chosen for n in measured.provenance.related(e, "node")}
    assert "conv1" in nodes
    every, _ = measured.marked(Selection(chosen, chosen[0]))
    assert set(row.indices) == every


@pytest.mark.slow
def test_times_reach_another_program_by_stable_keys(measured: Measurement) -> None:
    own = measured.times_ms()
    assert measured.times_ms(measured.provenance) == own
    # The same graph with other layers between: its conv stands elsewhere and keeps its time.
    graph = LayerGraph("other")
    x = graph.add(Conv2D(4, 3, name="conv1"), graph.add(Input((8, 8, 1), name="image")))
    x = graph.add(Flatten(name="flat"), graph.add(MaxPooling2D(2, name="pool"), x))
    graph.outputs = (graph.add(Dense(10, "softmax", name="digit"), x),)
    made = task(graph, DIGITS)
    with open_backend("cpu") as opened, Trainer(made, opened.backend) as other:
        shown = Provenance(other.network.program("train"))
    moved = measured.times_ms(shown)
    assert moved
    for index, spent in moved.items():
        key = shown.key_of(index)
        assert own[measured.provenance.index_of(key)] == spent
    # What is of another size there was not measured.
    used = {key for index in moved for key in shown.operands_of(index)}
    assert "conv1/kernel" in used
    assert "digit/kernel" not in used
    before = {key for index in own for key in measured.provenance.operands_of(index)}
    assert {"conv1/kernel", "digit/kernel"} <= before
