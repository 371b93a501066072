"""Normalisations of inference programs folded into the products before them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from studio.engine.compiler.passes.fold_batchnorm import fold_batchnorm
from studio.engine.compiler.pipeline import Folding, compile_program
from studio.engine.compiler.target import CPU
from studio.engine.compiler.verify import verify
from studio.engine.core.tensor import Ref, Role
from studio.engine.isa.ops.activation import Relu
from studio.engine.isa.ops.arithmetic import Add
from studio.engine.isa.ops.norm import BatchNorm
from studio.engine.isa.program import Program
from tests.engine.compiler.networks import Net, resnet
from tests.engine.oracle.interpreter import Interpreter

Values = dict[str, npt.NDArray[np.float64]]


def values_of(program: Program, rng: np.random.Generator) -> Values:
    found = {}
    for t in program.of_role(Role.PARAM, Role.STATE, Role.INPUT):
        low = 0.3 if t.name.endswith("var") else -1.0
        found[t.name] = rng.uniform(low, 1.5, [3 if d < 0 else d for d in t.shape])
    return found


def outputs(program: Program, values: Values) -> list[npt.NDArray[np.float64]]:
    machine = Interpreter(program, 3)
    machine.run({k: v for k, v in values.items() if program.tensors.has_name(k)})
    return [machine.get(Ref(i)) for i in program.outputs]


def assert_folds(program: Program, rng: np.random.Generator, left: int = 0) -> Program:
    """All but ``left`` normalisations go, and outputs stay."""
    values = values_of(program, rng)
    folded = fold_batchnorm(program, values.__getitem__)
    verify(folded.program)
    assert sum(i.mnemonic.startswith("BATCHNORM") for i in folded.program) == left
    for name, value in folded.values.items():
        assert value.dtype == np.float32
        assert value.shape == folded.program.tensors.named(name).shape
    for name, (source, factors) in folded.scaled.items():
        np.testing.assert_allclose(folded.values[name], values[source] * factors, rtol=1e-6)
    found = outputs(folded.program, {**values, **folded.values})
    for a, b in zip(found, outputs(program, values), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
    return folded.program


def dense_rank_2(net: Net, x: Ref) -> Ref:
    y = net.dense("dense", x, 5)
    fields = {n: net.param(n, 5) for n in ("gamma", "beta")}
    fields |= {n: net.build.tensor(n, (5,), role=Role.STATE) for n in ("mean", "var")}
    return net.emit("bn", BatchNorm, x=y, frozen=True, **fields)


def test_convolutions_with_and_without_bias(rng: np.random.Generator) -> None:
    for bias in (True, False):
        net = Net("conv", "infer")
        a = net.norm("bn", net.conv("conv", net.input(4, 4, 2), 3, bias=bias))
        made = assert_folds(net.finish(net.emit("act", Relu, x=a)), rng)
        assert [i.mnemonic for i in made] == ["CONV2D", "RELU"]
        assert next(iter(made)).owners == ("conv", "bn")
        names = {t.name for t in made.of_role(Role.PARAM, Role.STATE)}
        assert names == {"conv/kernel/folded", "conv/kernel/folded_bias"}


def test_depthwise_convolutions(rng: np.random.Generator) -> None:
    net = Net("depthwise", "infer")
    assert_folds(net.finish(net.norm("bn", net.depthwise("dw", net.input(4, 4, 2), 3))), rng)


def test_dense_layers(rng: np.random.Generator) -> None:
    net = Net("dense", "infer")
    assert_folds(net.finish(dense_rank_2(net, net.input(4))), rng)
    net = Net("dense", "infer")
    assert_folds(net.finish(net.norm("bn", net.dense("d", net.input(3, 4), 5))), rng)


def test_a_normalisation_of_positions_stays(rng: np.random.Generator) -> None:
    net = Net("positions", "infer")
    y = net.dense("dense", net.input(2, 4), 5)
    fields = {n: net.build.tensor(n, (2, 5), role=Role.STATE) for n in ("mean", "var")}
    y = net.emit("bn", BatchNorm, x=y, frozen=True, **fields)
    assert_folds(net.finish(y), rng, left=1)


def test_two_in_a_row_and_shared_weights(rng: np.random.Generator) -> None:
    net = Net("row", "infer")
    a = net.norm("bn2", net.norm("bn1", net.conv("conv", net.input(4, 4, 2), 3)))
    made = assert_folds(net.finish(a), rng)
    assert len(made.of_role(Role.PARAM)) == 2
    net = Net("shared", "infer")
    x = net.input(4, 4, 2)
    one = net.conv("conv", x, 2)
    conv = net.build._sections["forward"][-1]
    two = net.build.tensor("two", net.build.type_of(one).shape)
    net.build.append("forward", conv.replace(x=net.emit("act", Relu, x=x), y=two))
    made = assert_folds(net.finish(net.norm("bn1", one), net.norm("bn2", two)), rng)
    assert len(made.of_role(Role.PARAM)) == 4


def test_a_result_that_is_read_or_fetched_before_it_is_normalised_stays(
    rng: np.random.Generator,
) -> None:
    net = Net("read", "infer")
    a = net.conv("conv", net.input(4, 4, 2), 3)
    assert_folds(net.finish(net.emit("add", Add, x1=net.norm("bn", a), x2=a)), rng, left=1)
    net = Net("fetched", "infer")
    a = net.conv("conv", net.input(4, 4, 2), 3)
    assert_folds(net.finish(net.norm("bn", a), a), rng, left=1)


def test_training_programs_keep_their_normalisations() -> None:
    program = resnet()
    folded = fold_batchnorm(program, {}.__getitem__)
    assert folded.program == program
    assert folded.values == {}


@pytest.mark.parametrize("level", [1, 2])
def test_the_pipeline_folds_where_it_is_told_where_values_are(
    level: int, rng: np.random.Generator
) -> None:
    program = resnet("infer")
    values = values_of(program, rng)
    folding = Folding(values.__getitem__)
    made = compile_program(program, CPU, level, folding=folding, verify=True)
    norms = sum(i.mnemonic == "BATCHNORM2D" for i in made)
    assert norms == (0 if level == 2 else 3)
    assert set(folding.values) == (
        {t.name for t in made.of_role(Role.PARAM) if "folded" in t.name} if level == 2 else set()
    )
    found = outputs(made, {**values, **folding.values})
    np.testing.assert_allclose(found[0], outputs(program, values)[0], rtol=1e-5, atol=1e-6)
