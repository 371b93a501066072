"""Dispatches that stand side by side give what they give one after another, bit by bit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest

from studio.engine.compiler.pipeline import compile_program
from studio.engine.compiler.target import GL
from studio.engine.core.tensor import Ref, Role
from studio.engine.gl.backend import GlBackend
from studio.engine.isa.ops.activation import Relu
from studio.engine.isa.ops.arithmetic import Add
from studio.engine.isa.ops.loss import LossMSE
from studio.engine.isa.ops.pool import GlobalAvgPool2D
from studio.engine.isa.program import Program
from studio.engine.optim.emit_updates import emit_updates
from studio.engine.optim.optimizers import Adam
from tests.engine.autodiff.whole_programs import Values, values_for
from tests.engine.compiler.networks import NETWORKS, Net
from tests.engine.gl.gl_programs import begun

pytestmark = [pytest.mark.gl, pytest.mark.slow]

ROWS, STEPS = 6, 3
Results = dict[str, npt.NDArray[np.generic]]


@pytest.fixture(scope="module")
def hardware() -> Iterator[GlBackend]:
    """Plans as for a GPU, whatever the renderer is."""
    made = GlBackend(target=GL)
    yield made
    made.close()


def trained(backend: GlBackend, program: Program, values: Values) -> tuple[Results, int]:
    """Everything kept after some steps, and the barriers of one step."""
    session, executable = begun(backend, program, values, ROWS)
    executable.run(STEPS)
    found = {t.name: session.read(t.name).result(60) for t in program.of_role(Role.PARAM)}
    found |= {program.tensors[i].name: executable.fetch(Ref(i)).result(60) for i in program.outputs}
    barriers = sum(one.barrier for one in executable.issued)
    executable.close()
    session.close()
    return found, barriers


def blocks() -> Program:
    """A stem, a block that halves the image beside a shortcut, and one that adds what came in."""
    net = Net("blocks", "train")
    a = net.emit("relu", Relu, x=net.norm("bn", net.conv("conv", net.input(8, 8, 3), 8)))
    b = net.emit("relu1", Relu, x=net.norm("bn1", net.conv("conv1", a, 16, stride=2)))
    b = net.norm("bn2", net.conv("conv2", b, 16))
    short = net.norm("bn3", net.conv("conv3", a, 16, 1, 2))
    a = net.emit("relu2", Relu, x=net.emit("add", Add, x1=b, x2=short))
    b = net.emit("relu3", Relu, x=net.norm("bn4", net.conv("conv4", a, 16)))
    b = net.norm("bn5", net.conv("conv5", b, 16))
    c = net.emit("relu4", Relu, x=net.emit("add1", Add, x1=b, x2=a))
    y = net.dense("dense", net.emit("gap", GlobalAvgPool2D, x=c), 4)
    net.emit("loss", LossMSE, "loss", p=y, t=net.target(4))
    return net.finish(y)


def optimised(program: Program, *disabled: str) -> Program:
    return compile_program(
        program,
        GL,
        disabled=disabled,
        emit_updates=lambda p: emit_updates(p, Adam(global_clipnorm=0.5)),
    )


def test_sums_taken_along_and_patience_change_next_to_nothing(
    hardware: GlBackend, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = optimised(blocks())
    assert program.section("update")
    values = values_for(program, rng, ROWS, -0.9, 0.9)
    values["train/rates"] = np.full(256, 0.01)
    by_level, barriers = trained(hardware, program, values)
    with monkeypatch.context() as patch:
        patch.setattr(hardware.work, "target", replace(hardware.target, in_order=True))
        in_order, _ = trained(hardware, program, values)
    for key, value in by_level.items():
        np.testing.assert_array_equal(value, in_order[key], err_msg=key)
    apart, more = trained(hardware, optimised(blocks(), "fuse_statistics"), values)
    assert barriers < more
    for key, value in by_level.items():
        np.testing.assert_allclose(value, apart[key], rtol=5e-3, atol=5e-3, err_msg=key)


@pytest.mark.parametrize("name", NETWORKS)
def test_order_by_level_changes_no_bit(
    backend: GlBackend, name: str, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = optimised(NETWORKS[name]())
    values = values_for(program, rng, ROWS, -0.9, 0.9)
    values["train/rates"] = np.full(256, 0.01)
    by_level, barriers = trained(backend, program, values)

    monkeypatch.setattr(backend.work, "target", replace(backend.target, in_order=True))
    in_order, more = trained(backend, program, values)
    assert by_level.keys() == in_order.keys()
    for key, value in by_level.items():
        np.testing.assert_array_equal(value, in_order[key], err_msg=key)
    assert barriers <= more
