"""Two programs side by side, and what each pass of the compiler did."""

from __future__ import annotations

import pytest

from studio.engine.compiler.target import CPU, GL
from studio.engine.isa.line import format_line
from studio.engine.isa.text import format_tensor
from studio.engine.train.network.programs import Programs
from studio.session.listing.passes.pass_steps import PassStep, pass_steps
from studio.session.listing.passes.program_diff import (
    changed_count,
    hide_unchanged,
    program_diff,
)
from tests.engine.compiler.networks import mixed_program
from tests.instruction_view.corpus import program_of
from tests.instruction_view.programs import (
    BATCH,
    SAMPLES,
    sample_program,
    sample_task,
)


def steps_of(name: str, mode: str = "train") -> tuple[PassStep, ...]:
    return pass_steps(Programs(sample_task(name)).passes(mode, 2, GL), BATCH, 100)


@pytest.mark.parametrize("mode", ["train", "infer"])
@pytest.mark.parametrize("name", SAMPLES)
def test_both_sides_of_every_pass_are_its_programs(name: str, mode: str) -> None:
    for step in steps_of(name, mode):
        if step.is_empty:
            assert [format_line(i) for i in step.before] == [format_line(i) for i in step.after]
            continue
        titles = [line.text for line in step.diff if line.change == "title"]
        for program, side in ((step.before, "before"), (step.after, "after")):
            alternate = bool(step.before.order or step.after.order)
            expected = [format_line(i) for i in program] if alternate else []
            if alternate and titles[0] == "tensor map":
                expected = [format_tensor(t) for t in program.tensors.values()] + expected
            for title in () if alternate else titles:
                if title == "tensor map":
                    expected += [format_tensor(t) for t in program.tensors.values()]
                else:
                    expected += [format_line(i) for i in program.section(title)]
            shown = [getattr(line, side) for line in step.diff]
            assert [each.text for each in shown if each is not None] == expected
        for line in step.diff:
            if line.change == "same":
                assert line.before is not None
                assert line.after is not None
                assert line.before.text == line.after.text
            if line.change == "changed":
                assert line.before is not None
                assert line.after is not None
                assert line.before.name == line.after.name


def test_fusing_adds_markers_only() -> None:
    step = next(s for s in steps_of("digits-cnn") if s.name == "fuse_epilogues")
    added = [x.after.name for x in step.diff if x.change == "added" and x.after is not None]
    assert set(added) == {"FUSE", "END"}
    before, after = step.amounts
    assert after.instructions == before.instructions + len(added)
    assert after.kernels == before.kernels - len(added) // 2
    assert after.nbytes < before.nbytes


def test_amounts_of_a_pass_are_those_of_its_programs() -> None:
    step = steps_of("digits-mlp")[-1]
    for amounts, program in zip(step.amounts, (step.before, step.after), strict=True):
        assert amounts.instructions == len(program)
        assert amounts.tensors == len(program.tensors)


def test_equal_programs_differ_in_nothing() -> None:
    program = sample_program("digits-cnn")
    assert program_diff(program, program) == ()


def test_lines_that_only_moved_are_a_difference() -> None:
    plain = program_of("picture", target=CPU)
    lines = [(section, ins) for section, _, ins in plain.located()]
    seed = next(place for place, (section, _) in enumerate(lines) if section == "backward")
    moved = plain.with_lines([lines[seed], *lines[:seed], *lines[seed + 1 :]])
    diff = program_diff(plain, moved)
    assert changed_count(diff) == (1, 1, 0)
    short = [(line.change, line.text) for line in hide_unchanged(diff, 0)]
    kept = f"{seed} unchanged lines"
    left = f"{len(plain) - seed - 1} unchanged lines"
    assert short == [
        ("title", "backward"), ("added", ""), ("gap", kept),
        ("title", "backward"), ("removed", ""), ("gap", left),
    ]  # fmt: skip


def test_sections_that_alternate_are_aligned_line_by_line() -> None:
    plain = program_of("picture", target=CPU)
    mixed = mixed_program(plain)
    for before, after in ((plain, mixed), (mixed, plain), (mixed, mixed.with_sections(loss=()))):
        diff = program_diff(before, after)
        for program, side in ((before, "before"), (after, "after")):
            shown = [s for s in (getattr(line, side) for line in diff) if s is not None]
            assert [s.text for s in shown] == [format_line(ins) for ins in program]
            assert [s.row for s in shown] == list(range(len(program)))
        title = ""
        for line in diff:
            title = line.text if line.change == "title" else title
            assert {s.part for s in (line.before, line.after) if s is not None} <= {title}
    assert program_diff(mixed, mixed_program(plain)) == ()


def test_a_change_of_a_scalar_pairs_the_lines() -> None:
    program = sample_program("digits-cnn")
    lines = list(program.section("forward"))
    place = next(i for i, line in enumerate(lines) if line.mnemonic == "DROPOUT")
    lines[place] = lines[place].replace(rate=0.75)
    diff = program_diff(program, program.with_sections(forward=lines))
    changed = [line for line in diff if line.change == "changed"]
    assert len(changed) == 1
    assert changed[0].after is not None
    assert "0.75" in changed[0].after.text
    assert changed_count(diff) == (0, 0, 1)


def test_hiding_keeps_changes_and_a_little_round_them() -> None:
    program = sample_program("digits-resnet", target=CPU)
    lines = list(program.section("forward"))
    gone = lines.pop(12)
    diff = program_diff(program, program.with_sections(forward=lines))
    short = hide_unchanged(diff, 2)
    kinds = [line.change for line in short]
    assert kinds == ["title", "gap", "same", "same", "removed", "same", "same", "gap"]
    assert short[4].before is not None
    assert short[4].before.text == format_line(gone)
    hidden = sum(int(line.text.split()[0]) for line in short if line.change == "gap")
    assert hidden + len(short) - 2 == len(diff)
