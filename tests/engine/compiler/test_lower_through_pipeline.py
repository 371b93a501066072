"""Lowered programs at every optimisation level: each pass verified, the numbers still Keras'."""

from __future__ import annotations

from functools import partial

import pytest

from studio.engine.compiler.lower import lower
from studio.engine.compiler.pipeline import compile_program
from studio.engine.compiler.target import CPU
from studio.engine.core.tensor import Role
from studio.engine.layers.graph_json import graph_from_json
from studio.engine.optim.emit_updates import emit_updates
from studio.engine.optim.optimizers import SGD
from tests.engine.compiler.sample_graphs import residual_sample
from tests.engine.layers.test_layers_match_keras import recorded
from tests.engine.layers.test_layers_on_cpu import near, run_on_cpu
from tests.recorded.layers.cases import CASES


@pytest.mark.parametrize("level", [0, 1, 2])
@pytest.mark.parametrize("case", CASES)
def test_every_level_gives_what_keras_gives(case: str, level: int) -> None:
    graph, wanted = graph_from_json(CASES[case]), recorded()[case]
    infer = compile_program(lower(graph, "infer"), CPU, level, verify=True)
    near(run_on_cpu(case, graph, infer)[0], wanted["inference"], "inference")
    program = lower(graph, "train", loss="mse")
    trained = [t for t in program.of_role(Role.PARAM) if t.trainable]
    if not trained:
        return
    whole = compile_program(
        program, CPU, level, verify=True,
        emit_updates=partial(emit_updates, optimizer=SGD(1.0)),
    )  # fmt: skip
    output, moved = run_on_cpu(case, graph, whole)
    near(output, wanted["training"], "training")
    for tensor in trained:
        near(moved[tensor.name], wanted[f"grad:{tensor.name}"], tensor.name)


def test_the_residual_sample_compiles_at_every_level() -> None:
    program = lower(residual_sample(), "train", loss="categorical_crossentropy")
    counts = [
        len(compile_program(program, CPU, level, verify=True,
                            emit_updates=partial(emit_updates, optimizer=SGD(0.1))))
        for level in (0, 1)
    ]  # fmt: skip
    assert counts[1] < counts[0]
