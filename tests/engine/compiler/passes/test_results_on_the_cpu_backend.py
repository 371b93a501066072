"""Compiled networks on the NumPy backend: all levels against each other and the interpreter."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pytest

from studio.engine.compiler.pipeline import Folding, compile_program
from studio.engine.compiler.target import CPU
from studio.engine.core.tensor import Ref, Role
from studio.engine.cpu.backend import CpuBackend
from studio.engine.isa.program import Program
from studio.engine.optim.emit_updates import emit_updates
from studio.engine.optim.optimizers import Adam
from tests.engine.autodiff.whole_programs import Values, values_for
from tests.engine.compiler.networks import NETWORKS
from tests.engine.oracle.interpreter import Interpreter

ROWS, STEPS = 3, 3
Results = dict[str, npt.NDArray[np.float64]]


@pytest.fixture
def backend() -> Iterator[CpuBackend]:
    made = CpuBackend()
    yield made
    made.close()


def with_updates(program: Program) -> Program:
    return emit_updates(program, Adam(global_clipnorm=0.5))


def start_values(program: Program, rng: np.random.Generator) -> Values:
    values = values_for(program, rng, ROWS, -0.9, 0.9)
    values["train/rates"] = np.full(256, 0.01)
    return values


def on_backend(backend: CpuBackend, program: Program, values: Values) -> Results:
    """Outputs, parameters, statistics and the metrics ring after some steps."""
    session = backend.open_session()
    executable = backend.compile(program, session, ROWS)
    for tensor in program.tensors.values():
        if tensor.name in values and tensor.role.persistent:
            session.write(tensor.name, values[tensor.name].astype(tensor.dtype.np))
    for i in program.inputs:
        name = program.tensors[i].name
        executable.feed(i, values[name].astype(program.tensors[i].dtype.np))
    executable.run(STEPS if program.mode == "train" else 1)
    kept = program.of_role(Role.PARAM, Role.STATE, Role.METRIC)
    found = {t.name: session.read(t.name).result() for t in kept if "folded" not in t.name}
    found |= {program.tensors[i].name: executable.fetch(Ref(i)).result() for i in program.outputs}
    return {name: np.asarray(value, np.float64) for name, value in found.items()}


def assert_close(found: Results, wanted: Results) -> None:
    for name in found:
        np.testing.assert_allclose(found[name], wanted[name], rtol=2e-4, atol=2e-5, err_msg=name)


@pytest.mark.parametrize("mode", ["train", "infer"])
@pytest.mark.parametrize("name", NETWORKS)
def test_levels_train_to_the_same_parameters(
    backend: CpuBackend, name: str, mode: str, rng: np.random.Generator
) -> None:
    program = NETWORKS[name](mode)
    values = start_values(program, rng)
    by_level = [
        on_backend(backend, compile_program(program, CPU, level, emit_updates=with_updates), values)
        for level in (0, 1, 2)
    ]
    assert set(by_level[0]) == set(by_level[1]) == set(by_level[2])
    assert_close(by_level[1], by_level[0])
    assert_close(by_level[2], by_level[0])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mlp", "resnet", "branches", "expression"])
def test_a_training_step_is_the_interpreters(
    backend: CpuBackend, name: str, rng: np.random.Generator
) -> None:
    program = compile_program(NETWORKS[name](), CPU, emit_updates=with_updates)
    values = start_values(program, rng)
    machine = Interpreter(program, ROWS)
    slots = {t.name: np.zeros(t.shape) for t in program.of_role(Role.SLOT, Role.STEP, Role.METRIC)}
    known = {k: v for k, v in {**slots, **values}.items() if program.tensors.has_name(k)}
    machine.run(known)
    for _ in range(STEPS - 1):
        machine.run({})
    found = on_backend(backend, program, values)
    for key, value in found.items():
        wanted = machine.get(program.tensors.named(key).ref)
        np.testing.assert_allclose(value, wanted, rtol=2e-3, atol=2e-4, err_msg=key)


def test_folded_normalisations_give_the_same_outputs(
    backend: CpuBackend, rng: np.random.Generator
) -> None:
    program = NETWORKS["resnet"]("infer")
    values = start_values(program, rng)
    folding = Folding(lambda name: values[name])
    folded = compile_program(program, CPU, folding=folding, verify=True)
    assert not any("BATCHNORM" in ins.mnemonic for ins in folded)
    found = on_backend(backend, folded, {**values, **folding.values})
    wanted = on_backend(backend, program, values)
    assert_close({k: v for k, v in found.items() if k in wanted}, wanted)
