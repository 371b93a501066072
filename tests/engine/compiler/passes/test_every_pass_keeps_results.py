"""Every step of the pipeline, on its own and in a row, leaves what a program computes alone."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest

from studio.engine.compiler.fusion import in_groups
from studio.engine.compiler.pipeline import JOINT, Context, compile_program, pass_names
from studio.engine.compiler.plan_memory import plan_memory
from studio.engine.compiler.target import CPU, GL
from studio.engine.compiler.verify import verify
from studio.engine.core.tensor import Ref, Role
from studio.engine.isa.program import Program
from studio.engine.isa.text import format_program, parse_program
from studio.engine.optim.emit_updates import emit_updates
from studio.engine.optim.optimizers import Adam
from tests.engine.autodiff.whole_programs import Values, values_for
from tests.engine.compiler.networks import NETWORKS
from tests.engine.oracle.interpreter import Interpreter

ROWS = 2
Results = dict[str, npt.NDArray[np.float64]]


def with_updates(program: Program) -> Program:
    return emit_updates(program, Adam(global_clipnorm=0.5))


def start_values(program: Program, rng: np.random.Generator) -> Values:
    """Values for all that a compiled program may read."""
    values = values_for(program, rng, ROWS, -0.9, 0.9)
    values["train/rates"] = np.full(256, 0.01)
    values["train/step"] = np.zeros(8)
    return values


def results(program: Program, values: Values, *, planned: bool = False) -> Results:
    """Outputs and everything persistent after two steps."""
    plan = plan_memory(program, ROWS, 0, GL) if planned else None
    machine = Interpreter(program, ROWS, plan)
    slots = {t.name: np.zeros(t.shape) for t in program.of_role(Role.SLOT)}
    given = {k: v for k, v in {**slots, **values}.items() if program.tensors.has_name(k)}
    machine.run(given)
    machine.run({})
    kept = program.of_role(Role.PARAM, Role.STATE, Role.SLOT, Role.METRIC)
    found = {t.name: machine.get(t.ref) for t in kept}
    return found | {program.tensors[i].name: machine.get(Ref(i)) for i in program.outputs}


def assert_same(found: Results, wanted: Results) -> None:
    assert set(found) == set(wanted)
    for name, value in found.items():
        np.testing.assert_allclose(value, wanted[name], rtol=1e-6, atol=1e-9, err_msg=name)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["train", "infer"])
@pytest.mark.parametrize("name", NETWORKS)
def test_levels_compute_the_same(name: str, mode: str, rng: np.random.Generator) -> None:
    program = NETWORKS[name](mode)
    values = start_values(program, rng)
    compiled = [
        compile_program(program, GL, level, emit_updates=with_updates, verify=True)
        for level in (0, 1, 2)
    ]
    wanted = results(compiled[0], values)
    for one in compiled[1:]:
        assert_same(results(one, values), wanted)
    for one in compiled:
        assert_same(results(one, values, planned=True), wanted)
        assert parse_program(format_program(one)) == one


@pytest.mark.slow
@pytest.mark.parametrize("left_out", pass_names())
def test_any_pass_may_be_switched_off(left_out: str, rng: np.random.Generator) -> None:
    program = NETWORKS["branches"]()
    values = start_values(program, rng)
    seen: list[str] = []
    one = compile_program(
        program, CPU, disabled=[left_out], emit_updates=with_updates, verify=True,
        observer=lambda name, before, after: seen.append(name),
    )  # fmt: skip
    assert left_out not in seen
    wanted = results(compile_program(program, CPU, 0, emit_updates=with_updates), values)
    assert_same(results(one, values), wanted)


@pytest.mark.slow
@pytest.mark.parametrize("name", NETWORKS)
def test_each_step_by_itself_keeps_gradients_and_updates(
    name: str, rng: np.random.Generator
) -> None:
    program = NETWORKS[name]()
    values = start_values(program, rng)
    alone: list[Callable[[], Program]] = [
        lambda only=only: compile_program(
            program, GL, disabled=[p for p in pass_names() if p != only],
            emit_updates=with_updates, verify=True,
        )
        for only in pass_names()
    ]  # fmt: skip
    wanted = results(compile_program(program, GL, 0, emit_updates=with_updates), values)
    for make in alone:
        assert_same(results(make(), values), wanted)


@pytest.mark.slow
@pytest.mark.parametrize("name", NETWORKS)
def test_passes_keep_results_where_sections_alternate(name: str, rng: np.random.Generator) -> None:
    joint = [step.name for step in JOINT]
    plain = compile_program(NETWORKS[name](), GL, disabled=joint, emit_updates=with_updates)
    values = start_values(plain, rng)
    lines = [(section, ins) for section, _, ins in plain.located()]
    seed = next(place for place, (section, _) in enumerate(lines) if section == "backward")
    lines.insert(0, lines.pop(seed))
    for place in [n for n, (section, _) in enumerate(lines) if section == "forward"][2::3]:
        lines[place] = ("loss", lines[place][1])
    made = plain.with_lines(lines)
    verify(made)
    for step in JOINT:
        made = step.run(made, Context(GL))
        verify(made, after=step.name)
    assert "loss" in [section for section, _ in made.order[:4]]
    assert in_groups(made)
    assert_same(results(made, values, planned=True), results(plain, values))
    assert parse_program(format_program(made)) == made
