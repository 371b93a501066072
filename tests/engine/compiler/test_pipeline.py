"""The pipeline: what runs at which level, what is heard, what is refused."""

from __future__ import annotations

import itertools

import pytest

from studio.engine.compiler.pipeline import compile_program, diff_programs, pass_names
from studio.engine.compiler.target import CPU
from studio.engine.core.errors import ParameterError, VerifyError
from studio.engine.isa.ops.move import Zero
from studio.engine.isa.program import Program
from studio.engine.optim.emit_updates import emit_updates
from studio.engine.optim.optimizers import SGD
from tests.engine.compiler.networks import cnn, mlp


def steps(program: Program, level: int, **options: object) -> list[str]:
    heard: list[str] = []
    compile_program(
        program, CPU, level, observer=lambda name, before, after: heard.append(name),
        emit_updates=lambda p: emit_updates(p, SGD()), **options,
    )  # fmt: skip
    return heard


def test_level_0_only_differentiates_and_updates() -> None:
    assert steps(mlp(), 0) == ["differentiate", "emit_updates"]
    assert steps(mlp("infer"), 0) == []


def test_level_2_runs_all_passes_in_order() -> None:
    expected = [n for n in pass_names() if n != "prune_gradients"]
    assert [n for n in steps(mlp(), 2) if n in expected] == expected
    heard = steps(mlp(), 2)
    assert heard.index("remove_dead_code") < heard.index("differentiate")
    assert heard.index("emit_updates") < heard.index("set_first_gradients")
    assert set(steps(mlp(), 1)) < set(heard)


def test_inference_programs_are_not_differentiated() -> None:
    assert "differentiate" not in steps(cnn("infer"), 2)
    assert not compile_program(cnn("infer"), CPU).section("backward")


def test_without_updates_gradients_are_left() -> None:
    made = compile_program(mlp(), CPU)
    assert made.section("backward")
    assert not made.section("update")


def test_every_step_is_seen_with_what_it_made() -> None:
    seen: list[tuple[Program, Program]] = []
    made = compile_program(cnn(), CPU, observer=lambda name, a, b: seen.append((a, b)))
    assert seen[-1][1] == made
    assert all(a[1] == b[0] for a, b in itertools.pairwise(seen))


def test_unknown_levels_and_passes_are_refused() -> None:
    with pytest.raises(ParameterError, match="0 to 2"):
        compile_program(mlp(), CPU, 3)
    with pytest.raises(ParameterError, match=r"unknown pass: .*make_views.* got 'fold_all'"):
        compile_program(mlp(), CPU, disabled=["fold_all"])


def test_a_step_that_breaks_a_rule_is_named() -> None:
    def broken(program: Program) -> Program:
        return program.with_sections(update=[Zero(y=1)])

    compile_program(mlp(), CPU, emit_updates=broken)
    with pytest.raises(VerifyError, match="after emit_updates"):
        compile_program(mlp(), CPU, emit_updates=broken, verify=True)


def test_a_program_that_comes_in_broken_is_named_too() -> None:
    program = mlp().with_sections(metrics=[Zero(y=1)])
    with pytest.raises(VerifyError, match="after lower"):
        compile_program(program, CPU, verify=True)


def test_a_diff_shows_lines_and_tensors_that_changed() -> None:
    before = cnn("infer")
    after = compile_program(before, CPU, 1)
    text = diff_programs(before, after, name="views", context=0)
    assert text.startswith("--- before views\n+++ after views\n")
    lines = text.splitlines()
    assert any(line.startswith("-FLATTEN 0x8 0x9") for line in lines)
    assert any(line.startswith("+.tensor 0x9") and "view=0x8" in line for line in lines)
    assert diff_programs(before, before) == ""


def test_kept_tensors_stay_stored() -> None:
    assert compile_program(cnn(), CPU).tensors[3].register
    assert not compile_program(cnn(), CPU, keep=[3]).tensors[3].register
