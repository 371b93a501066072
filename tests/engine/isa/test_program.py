"""A program's lines in running order, each with its section."""

from dataclasses import replace

import pytest

from studio.engine.compiler.rewriting import with_lines
from studio.engine.core.tensor import BATCH, Role, Tensor, TensorMap
from studio.engine.isa.ops.activation import Relu
from studio.engine.isa.program import SECTIONS, Program, SectionRange

F0, F1, L0, B0, B1 = (Relu(x=n, y=n + 1) for n in range(5))
PLAIN = {"forward": (F0, F1), "loss": (L0,), "backward": (B0, B1)}
MIXED = (("forward", F0), ("loss", L0), ("backward", B0), ("forward", F1), ("backward", B1))


def program(sections=PLAIN):
    tensors = [Tensor(i, f"t{i}", (BATCH, 4), role=Role.ACTIVATION) for i in range(6)]
    return Program("p", "train", TensorMap(tensors), sections)


def tagged(found):
    return tuple((section, ins) for section, _, ins in found.located())


def test_sections_from_a_mapping_stand_one_after_another():
    found = program({name: PLAIN[name] for name in reversed(PLAIN)})
    assert list(found) == [F0, F1, L0, B0, B1]
    assert [index for _, index, _ in found.located()] == [0, 1, 2, 3, 4]
    assert found.order == ()
    assert len(found) == 5


def test_lines_of_sections_may_alternate():
    found = program().with_lines(MIXED)
    assert tagged(found) == MIXED
    assert list(found) == [F0, L0, B0, F1, B1]
    assert [index for _, index, _ in found.located()] == [0, 1, 2, 3, 4]
    assert found.section("forward") == (F0, F1)
    assert found.section("backward") == (B0, B1)
    assert found.section("data") == ()
    assert len(found) == 5
    assert found != program()


def test_stretches_are_neighbouring_lines_of_one_section():
    assert list(program().with_lines(MIXED).section_ranges()) == [
        SectionRange("forward", 0, (F0,)),
        SectionRange("loss", 1, (L0,)),
        SectionRange("backward", 2, (B0,)),
        SectionRange("forward", 3, (F1,)),
        SectionRange("backward", 4, (B1,)),
    ]
    plain = [SectionRange("forward", 0, (F0, F1)), SectionRange("loss", 2, (L0,))]
    assert list(program().section_ranges()) == [*plain, SectionRange("backward", 3, (B0, B1))]


def test_lines_in_the_usual_order_make_an_ordinary_program():
    again = program().with_lines(tagged(program()))
    assert again == program()
    assert again.order == ()
    assert len(program().with_lines([])) == 0
    runs = (("forward", 1), ("forward", 1), ("data", 0), ("loss", 1), ("backward", 2))
    assert replace(program(), order=runs).order == ()


def test_sections_may_stand_in_another_order():
    swapped = [*tagged(program())[2:3], *tagged(program())[:2], *tagged(program())[3:]]
    found = program().with_lines(swapped)
    assert list(found) == [L0, F0, F1, B0, B1]
    assert found.order == (("loss", 1), ("forward", 2), ("backward", 2))


@pytest.mark.parametrize(
    "order",
    [
        (("forward", 1), ("loss", 1), ("forward", 2), ("backward", 2)),
        (("loss", 1), ("forward", 2)),
        (("loss", 1), ("forward", 2), ("backward", 2), ("nowhere", 1)),
        (("loss", 1), ("forward", 3), ("forward", -1), ("backward", 2)),
    ],
)
def test_an_order_holds_every_line_once(order):
    with pytest.raises(ValueError, match="order"):
        replace(program(), order=order)


def test_a_changed_line_keeps_its_place():
    found = program().with_lines(MIXED)
    owned = found.map_instructions(lambda ins: ins.replace(owners=("me",)))
    assert tagged(owned) == MIXED
    assert [ins.owners for ins in owned] == [("me",)] * 5
    swapped = found.with_sections(backward=(B1, B0))
    assert list(swapped) == [F0, L0, B1, F1, B0]


def test_a_section_of_another_length_stands_where_its_first_line_stood():
    found = program().with_lines(MIXED)
    assert list(found.with_sections(backward=(B0, B1, B0))) == [F0, L0, B0, B1, B0, F1]
    assert list(found.with_sections(loss=())) == [F0, B0, F1, B1]
    assert list(found.with_sections(forward=(), backward=())) == [L0]


def test_a_new_section_stands_behind_the_earlier_ones():
    found = program().with_lines(MIXED)
    assert list(found.with_sections(update=(F0,)))[-1] is F0
    assert next(iter(found.with_sections(data=(F1,)))) is F1
    swapped = program().with_lines([("metrics", F1), ("forward", F0), ("loss", L0)])
    assert list(swapped.with_sections(backward=(B0,))) == [F1, F0, L0, B0]


def test_sections_without_lines_stay():
    found = program().with_lines(MIXED).with_sections(data=(), metrics=())
    assert {"data", "metrics"} <= set(found.sections)
    assert tagged(found) == MIXED


def test_replaced_lines_stand_where_the_old_ones_stood():
    found = program().with_lines(MIXED)
    changed = with_lines(found, {1: (), 3: (F0, F1)})
    assert list(changed) == [F0, B0, F0, F1, B1]
    assert [section for section, _, _ in changed.located()] == [
        "forward", "backward", "forward", "forward", "backward",
    ]  # fmt: skip
    assert "loss" not in changed.sections
    assert with_lines(program(), {}) == program()


def test_running_order_of_many_lines_is_found_fast():
    names = SECTIONS[1:4]
    many = [(names[n % 3], (F0, L0, B0)[n % 3]) for n in range(21_000)]
    found = program().with_lines(many)
    assert tagged(found) == tuple(many)
    assert len(found.order) == 21_000
