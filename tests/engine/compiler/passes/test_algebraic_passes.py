"""What the passes before differentiation do and refuse to do, line by line."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from studio.engine.compiler.passes.fold_constants import fold_constants
from studio.engine.compiler.passes.fold_scale import fold_scale
from studio.engine.compiler.passes.make_views import make_views
from studio.engine.compiler.passes.remove_dead_code import remove_dead_code
from studio.engine.compiler.passes.share_common_subexpressions import (
    share_common_subexpressions,
)
from studio.engine.compiler.verify import verify
from studio.engine.core.dtypes import DType
from studio.engine.core.tensor import BATCH, Ref, Role, Tensor, TensorMap
from studio.engine.isa.line import format_line, parse_line
from studio.engine.isa.program import Program
from tests.engine.oracle.interpreter import Interpreter

N4 = (BATCH, 4)


def program(
    lines: str,
    *special: Tensor,
    outputs: tuple[int, ...],
    inputs: tuple[int, ...] = (0,),
    shape: tuple[int, ...] = N4,
    mode: str = "infer",
) -> Program:
    """A program of the given lines; tensors not given are activations of one shape."""
    parsed = []
    for number, text in enumerate(lines.strip().splitlines()):
        parsed.append(parse_line(text.strip(), (f"l{number}",)))
    found = {t.id: t for t in special}
    for ref in (r for ins in parsed for r in ins.operands if r.present):
        role = Role.INPUT if ref.id in inputs else Role.ACTIVATION
        found.setdefault(ref.id, Tensor(ref.id, f"t{ref.id}", shape, role=role))
    ordered = [found[i] for i in sorted(found)]
    made = Program("p", mode, TensorMap(ordered), {"forward": tuple(parsed)}, inputs, outputs)
    verify(made)
    return made


def lines_of(made: Program) -> list[str]:
    verify(made)
    return [format_line(i) for i in made]


def assert_same_output(a: Program, b: Program, rng: np.random.Generator) -> None:
    values = {
        t.name: rng.uniform(-1, 1, [3 if d < 0 else d for d in t.shape])
        for t in a.tensors.values()
        if t.id in a.inputs or t.role is Role.PARAM
    }
    found = []
    for one in (a, b):
        machine = Interpreter(one, 3)
        machine.run(values)
        found.append([machine.get(Ref(i)) for i in one.outputs])
    for x, y in zip(*found, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-6, atol=1e-7)


FOLDS = {
    "into an add with the same tensor": (
        "SCALE 0x0 0x1 3\nADD 0x0 0x1 0x2 1 2",
        ["SCALE 0x0 0x2 7"],
    ),
    "into either operand": (
        "SCALE 0x0 0x1 3\nRELU 0x0 0x3\nADD 0x1 0x3 0x2 0.5 1",
        ["RELU 0x0 0x3", "ADD 0x0 0x3 0x2 1.5 1"],
    ),
    "of a scale": ("SCALE 0x0 0x1 3\nSCALE 0x1 0x2 0.5", ["SCALE 0x0 0x2 1.5"]),
    "of an add to itself": ("ADD 0x0 0x0 0x2 1 2", ["SCALE 0x0 0x2 3"]),
    "in a row": (
        "SCALE 0x0 0x1 3\nSCALE 0x1 0x3 2\nRELU 0x0 0x4\nADD 0x3 0x4 0x2 1 1",
        ["RELU 0x0 0x4", "ADD 0x0 0x4 0x2 6 1"],
    ),
}


@pytest.mark.parametrize("name", FOLDS)
def test_a_scale_folds(name: str, rng: np.random.Generator) -> None:
    text, wanted = FOLDS[name]
    before = program(text, outputs=(2,))
    after = fold_scale(before)
    assert lines_of(after) == wanted
    assert_same_output(before, after, rng)


KEPT = {
    "whose folded factor is no float32": ("SCALE 0x0 0x1 1e30\nSCALE 0x1 0x2 1e30", (2,)),
    "whose folded factor is lost": ("SCALE 0x0 0x1 1e-30\nSCALE 0x1 0x2 1e-30", (2,)),
    "with two consumers": ("SCALE 0x0 0x1 3\nADD 0x0 0x1 0x2 1 1\nRELU 0x1 0x3", (2, 3)),
    "that is fetched": ("SCALE 0x0 0x1 3\nRELU 0x0 0x3\nADD 0x3 0x1 0x2 1 1", (1, 2)),
    "that feeds something else": ("SCALE 0x0 0x1 3\nRELU 0x1 0x2", (2,)),
    "in both operands": ("SCALE 0x0 0x1 3\nMUL 0x1 0x1 0x2", (2,)),
}


@pytest.mark.parametrize("name", KEPT)
def test_a_scale_stays(name: str) -> None:
    text, outputs = KEPT[name]
    before = program(text, outputs=outputs)
    assert fold_scale(before) == before


def test_a_folded_line_belongs_to_both_layers() -> None:
    after = fold_scale(program("SCALE 0x0 0x1 3\nRELU 0x0 0x3\nADD 0x1 0x3 0x2 1 1", outputs=(2,)))
    assert list(after)[-1].owners == ("l0", "l2")
    assert 1 not in after.tensors


def const(tensor_id: int, *values: float, shape: tuple[int, ...] = (4,)) -> Tensor:
    return Tensor(tensor_id, f"c{tensor_id}", shape, role=Role.CONST, value=values)


def test_constants_are_computed_now(rng: np.random.Generator) -> None:
    before = program(
        "MUL 0x1 0x2 0x3\nSQRT 0x3 0x4\nADD 0x4 0x1 0x5 2 1\nMUL 0x0 0x5 0x6",
        const(1, 1, 4, 9, 2), const(2, 1, 4, 9, 2),
        *(Tensor(i, f"t{i}", (4,)) for i in (3, 4, 5)), outputs=(6,),
    )  # fmt: skip
    after = remove_dead_code(fold_constants(before))
    assert lines_of(after) == ["MUL 0x0 0x5 0x6"]
    assert after.tensors[5].value == (3, 12, 27, 6)
    assert after.tensors[5].role is Role.CONST
    assert set(after.tensors) == {0, 5, 6}
    assert_same_output(before, after, rng)


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("MUL 0x0 0x1 0x2", "SCALE 0x0 0x2 4"),
        ("MUL 0x1 0x0 0x2", "SCALE 0x0 0x2 4"),
        ("DIV 0x0 0x1 0x2", "SCALE 0x0 0x2 0.25"),
        ("DIV 0x1 0x0 0x2", "DIV 0x1 0x0 0x2"),
        ("ADD 0x0 0x1 0x2 1 3", "ADD_SCALAR 0x0 0x2 12"),
        ("ADD 0x1 0x0 0x2 -1 1", "ADD_SCALAR 0x0 0x2 -4"),
        ("ADD 0x0 0x1 0x2 2 3", "ADD 0x0 0x1 0x2 2 3"),
    ],
)
def test_a_uniform_constant_becomes_a_number(
    line: str, wanted: str, rng: np.random.Generator
) -> None:
    before = program(line, const(1, 4, 4, 4, 4), outputs=(2,))
    after = fold_constants(before)
    assert lines_of(after) == [wanted]
    assert_same_output(before, after, rng)


def test_constants_that_are_fetched_too_large_or_not_finite_stay() -> None:
    line = "RECIPROCAL 0x1 0x2\nADD 0x0 0x2 0x3 1 1"
    zero = program(line, const(1, 0, 1, 2, 3), Tensor(2, "t2", (4,)), outputs=(3,))
    assert lines_of(fold_constants(zero))[0] == "RECIPROCAL 0x1 0x2"
    line = "SCALE 0x1 0x2 2"
    fetched = program(line, const(1, 0, 1, 2, 3), Tensor(2, "t2", (4,)), outputs=(2,), inputs=())
    assert lines_of(fold_constants(fetched)) == [line]


def test_equal_things_are_computed_once(rng: np.random.Generator) -> None:
    before = program(
        "TANH 0x0 0x1\nTANH 0x0 0x2\nSQUARE 0x1 0x3\nSQUARE 0x2 0x4\nADD 0x3 0x4 0x5 1 2",
        outputs=(5,),
    )
    after = share_common_subexpressions(before)
    assert lines_of(after) == ["TANH 0x0 0x1", "SQUARE 0x1 0x3", "ADD 0x3 0x3 0x5 1 2"]
    assert next(iter(after)).owners == ("l0", "l1")
    assert_same_output(before, after, rng)


@pytest.mark.parametrize(
    "text",
    [
        "CLIP 0x0 0x1 0 1\nCLIP 0x0 0x2 0 2\nADD 0x1 0x2 0x5 1 1",
        "DROPOUT 0x0 0x1 0.5 {stream=1}\nDROPOUT 0x0 0x2 0.5 {stream=1}\nADD 0x1 0x2 0x5 1 1",
        "POW 0x0 0x1 0x2\nPOW 0x1 0x0 0x3\nADD 0x2 0x3 0x5 1 1",
    ],
)
def test_different_and_random_things_are_not_shared(text: str) -> None:
    before = program(
        text, Tensor(1, "t1", N4), outputs=(5,), inputs=(0, 1) if "POW" in text else (0,)
    )
    assert share_common_subexpressions(before) == before


def test_normalisations_that_change_statistics_are_not_shared() -> None:
    special = [Tensor(i, f"s{i}", (4,), role=Role.STATE) for i in (1, 2)]
    norms = [f"BATCHNORM 0x0 {y} 0x- 0x- 0x1 0x2 0.001 0.1<>" for y in ("0x3", "0x4")]
    text = "\n".join([*norms, "ADD 0x3 0x4 0x5 1 1"])
    live = program(text.replace("<>", ""), *special, outputs=(5,))
    assert share_common_subexpressions(live) == live
    frozen = program(text.replace("<>", " {frozen=1}"), *special, outputs=(5,))
    assert len(share_common_subexpressions(frozen)) == 2


def test_what_is_fetched_is_computed_under_its_own_name() -> None:
    before = program("TANH 0x0 0x1\nTANH 0x0 0x2", outputs=(1, 2))
    assert share_common_subexpressions(before) == before


def test_reshapes_become_views(rng: np.random.Generator) -> None:
    before = program(
        "FLATTEN 0x0 0x1\nRELU 0x1 0x2\nRESHAPE 0x2 0x3 {shape=-1,2,2}\nCOPY 0x3 0x4\nTANH 0x4 0x5",
        Tensor(0, "x", (BATCH, 2, 2), role=Role.INPUT),
        *(Tensor(i, f"t{i}", (BATCH, 2, 2)) for i in (3, 4, 5)),
        outputs=(5, 1),
    )
    after = make_views(before)
    assert lines_of(after) == ["RELU 0x1 0x2", "TANH 0x4 0x5"]
    assert [after.tensors[i].view_of for i in (1, 3, 4)] == [0, 2, 3]
    assert after.tensors.root(4) == 2
    assert_same_output(before, after, rng)


def test_a_view_may_be_numbered_before_its_base() -> None:
    before = program("RELU 0x0 0x5\nCOPY 0x5 0x3\nTANH 0x3 0x4", outputs=(4,))
    after = make_views(before)
    order = list(after.tensors)
    assert order.index(5) < order.index(3)


def test_copies_of_what_changes_in_place_stay() -> None:
    special = [Tensor(i, f"s{i}", (4,), role=Role.STATE) for i in (1, 2)]
    before = program(
        "COPY 0x1 0x6\nBATCHNORM 0x0 0x3 0x- 0x- 0x1 0x2 0.001 0.1\nADD 0x3 0x6 0x5 1 1",
        *special, Tensor(6, "old", (4,)), outputs=(5,),
    )  # fmt: skip
    assert make_views(before) == before


def test_copies_of_gradients_and_of_padded_tensors_stay() -> None:
    padded = Tensor(1, "t1", N4, pad=((0, 0), (1, 1)))
    before = program("RELU 0x0 0x1\nCOPY 0x1 0x2\nTANH 0x2 0x3", padded, outputs=(3,))
    assert make_views(before) == before
    before = program("ZERO 0x0.grad\nCOPY 0x0.grad 0x2\nTANH 0x2 0x3", outputs=(3,))
    assert make_views(before) == before


def test_what_nobody_reads_is_dropped() -> None:
    before = program(
        "TANH 0x0 0x1\nSQUARE 0x1 0x2\nRELU 0x0 0x3\nADD 0x7 0x0 0x4 1 1\nEXP 0x0 0x5",
        Tensor(7, "w", (4,), role=Role.PARAM), outputs=(3,),
    )  # fmt: skip
    after = remove_dead_code(before)
    assert lines_of(after) == ["RELU 0x0 0x3"]
    assert set(after.tensors) == {0, 3, 7}


def test_what_changes_a_persistent_tensor_is_never_dead() -> None:
    state = [Tensor(i, f"s{i}", (4,), role=Role.STATE) for i in (1, 2)]
    step = Tensor(8, "step", (8,), DType.int32, Role.STEP)
    before = program(
        "BATCHNORM 0x0 0x3 0x- 0x- 0x1 0x2 0.001 0.1\nADVANCE 0x0 0x8", *state, step, outputs=()
    )
    assert remove_dead_code(before) == before


def test_the_loss_of_a_training_program_is_wanted_before_it_is_differentiated() -> None:
    before = program("RELU 0x0 0x1", outputs=(), mode="train")
    loss = parse_line("LOSS_MSE 0x1 0x2 0x3")
    tensors = before.tensors.update(
        [Tensor(2, "t", N4, role=Role.INPUT), Tensor(3, "loss", ()), Tensor(4, "other", ())]
    )
    other = parse_line("LOSS_MSE 0x1 0x2 0x4")
    before = replace(before.with_tensors(tensors).with_sections(loss=(other, loss)), inputs=(0, 2))
    assert lines_of(remove_dead_code(before)) == ["RELU 0x0 0x1", "LOSS_MSE 0x1 0x2 0x3"]
