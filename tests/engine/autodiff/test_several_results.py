"""Instructions with several results: kept ones, those no loss depends on, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import pytest

from studio.engine.autodiff.differentiate import differentiate
from studio.engine.compiler.passes.remove_dead_code import remove_dead_code
from studio.engine.compiler.passes.set_first_gradients import set_first_gradients
from studio.engine.compiler.verify import verify
from studio.engine.core.discovery import all_or_none
from studio.engine.core.dtypes import DType
from studio.engine.core.errors import GradientError
from studio.engine.core.tensor import ABSENT, BATCH, Role, TensorType
from studio.engine.isa.builder import ProgramBuilder
from studio.engine.isa.fields import reads, writes
from studio.engine.isa.instruction import Instruction, TypeOf
from studio.engine.isa.line import format_line
from studio.engine.isa.manual import entry_of
from studio.engine.isa.ops.arithmetic import Add, Mul
from studio.engine.isa.ops.reduce import ReduceMean
from studio.engine.isa.program import Program


class _TakenOutError(Exception):
    """Makes `all_or_none` take the instruction out again."""


@pytest.fixture
def split() -> Iterator[type[Instruction]]:
    """An instruction with two results, and two kept ones between them, one of them optional."""
    with suppress(_TakenOutError), all_or_none():
        yield made_split()
        _take_out()


def _take_out() -> None:
    raise _TakenOutError


def made_split() -> type[Instruction]:
    class Split(Instruction, code=980, mnemonic="SPLIT_TEST", category="move", saves=()):
        """Splits."""

        x = reads("Input.")
        a = writes("First result.")
        order = writes("Order of the elements.", kept=True)
        scale = writes("Scale.", kept=True, optional=True)
        b = writes("Second result.")

        def infer(self, of: TypeOf) -> tuple[TensorType, ...]:
            x = of(self.x)
            rows = x.shape[:1]
            return (x, TensorType(rows, DType.int32), TensorType(rows), TensorType(rows))

    return Split


def made_sort() -> type[Instruction]:
    class Sort(Instruction, code=981, mnemonic="SORT_TEST", category="move", saves=()):
        """Sorts."""

        x = reads("Input.")
        y = writes("Sorted.")
        order = writes("Order.")

        def infer(self, of: TypeOf) -> tuple[TensorType, ...]:
            return (of(self.x), TensorType(of(self.x).shape, DType.int32))

    return Sort


def made_loss() -> type[Instruction]:
    class Both(Instruction, code=983, mnemonic="LOSS_TEST", category="loss", saves=("x",)):
        """A loss that gives that of each row too, and keeps something."""

        x = reads("Input.")
        y = writes("The loss.")
        rows = writes("Of each row.")
        sums = writes("Kept.", kept=True)

        def infer(self, of: TypeOf) -> tuple[TensorType, ...]:
            rows = TensorType(of(self.x).shape[:1])
            return (TensorType(()), rows, rows)

    return Both


def make_keep() -> None:
    class Keep(Instruction, code=982, mnemonic="KEEP_TEST", category="move"):
        """Keeps."""

        x = reads("Input.")
        y = writes("Output.", kept=True)


def program(split: type[Instruction], *used: str) -> tuple[Program, Instruction]:
    """A parameter, the instruction, and the mean of the results in ``used``."""
    build = ProgramBuilder("case", "train")
    x = build.tensor("x", (BATCH, 3), role=Role.INPUT)
    w = build.tensor("w", (BATCH, 3), role=Role.PARAM, trainable=True)
    with build.owned_by("layer"):
        product = build.emit("forward", Mul, a=x, b=w)[0]
        a, _, b = build.emit("forward", split, name="layer/output", x=product)
    results = {"a": a, "b": b}
    means = [build.emit("loss", ReduceMean, x=results[name])[0] for name in used]
    if len(means) == 2:
        build.emit("loss", Add, x1=means[0], x2=means[1], alpha=1.0, beta=1.0)
    found = build.finish((x,), ())
    return found, next(ins for ins in found if ins.mnemonic == "SPLIT_TEST")


def backward(found: Program) -> list[str]:
    return [format_line(ins) for ins in found.section("backward")]


def test_results_are_made_with_names_and_types_of_their_own(split: type[Instruction]) -> None:
    found, ins = program(split, "a")
    made = {name: found.tensors[ins.ref(name).id] for name in ("a", "order", "b")}
    assert {name: t.name for name, t in made.items()} == {
        "a": "layer/output", "order": "layer/order", "b": "layer/b",
    }  # fmt: skip
    assert made["order"].type == TensorType((BATCH,), DType.int32)
    assert made["b"].type == TensorType((BATCH,))
    assert ins.ref("scale") == ABSENT
    assert ins.results() == (ins.ref("a"), ins.ref("b"))
    verify(found)


@pytest.mark.parametrize(("used", "unused"), [("a", "b"), ("b", "a")])
def test_a_result_that_no_loss_depends_on_gets_a_zero_gradient(
    split: type[Instruction], used: str, unused: str
) -> None:
    found, ins = program(split, used)
    found = differentiate(found)
    verify(found)
    lines = backward(found)
    at = next(i for i, line in enumerate(lines) if line.startswith("GRADS_SPLIT_TEST"))
    assert lines[:at].count(f"ZERO {ins.ref(unused)}.grad") == 1
    assert sum(f"{ins.ref(unused)}.grad" in line for line in lines) == 1
    verify(set_first_gradients(found))
    assert f"ZERO {ins.ref(unused)}.grad" in backward(set_first_gradients(found))


def test_where_the_loss_depends_on_both_there_is_no_such_zero(split: type[Instruction]) -> None:
    found, ins = program(split, "a", "b")
    found = differentiate(found)
    verify(found)
    lines = backward(set_first_gradients(found))
    assert not any(line.startswith("ZERO") for line in lines)
    (gradient,) = (i for i in found.section("backward") if i.mnemonic == "GRADS_SPLIT_TEST")
    assert gradient.effects().reads - gradient.effects().accumulates == {
        ins.ref("a").gradient, ins.ref("b").gradient, ins.ref("order"),
    }  # fmt: skip


def test_a_kept_result_on_the_way_to_the_loss_is_refused(split: type[Instruction]) -> None:
    build = ProgramBuilder("case", "train")
    w = build.tensor("w", (4, 3), role=Role.PARAM, trainable=True)
    scale = build.tensor("scale", (4,))
    with build.owned_by("layer"):
        a = build.emit("forward", split, x=w, scale=scale)[0]
    sums = [build.emit("loss", ReduceMean, x=x)[0] for x in (a, scale)]
    build.emit("loss", Add, x1=sums[0], x2=sums[1], alpha=1.0, beta=1.0)
    with pytest.raises(GradientError, match="kept for the gradient instruction") as caught:
        differentiate(build.finish((), ()))
    assert caught.value.who == "SPLIT_TEST"
    assert "layer 'layer'" in str(caught.value.origin)


def test_the_loss_is_the_first_result_of_the_last_line(split: type[Instruction]) -> None:
    """Not what it keeps, nor what it gives besides; no pass takes the line for dead code."""
    with suppress(_TakenOutError), all_or_none():
        loss = made_loss()
        build = ProgramBuilder("case", "train")
        w = build.tensor("w", (4, 3), role=Role.PARAM, trainable=True)
        value, *_ = build.emit("loss", loss, x=build.emit("forward", split, x=w)[0])
        found = remove_dead_code(build.finish((), ()))
        assert [ins.mnemonic for ins in found] == ["SPLIT_TEST", "LOSS_TEST"]
        lines = backward(differentiate(found))
        assert lines[0].startswith(f"FILL {value}.grad 1")
        assert [line for line in lines if line.startswith("GRADS_LOSS_TEST")]
        _take_out()


def test_whole_numbers_must_be_declared_kept() -> None:
    with suppress(_TakenOutError), all_or_none():
        sort = made_sort()
        build = ProgramBuilder("case", "train")
        w = build.tensor("w", (4,), role=Role.PARAM, trainable=True)
        build.emit("loss", ReduceMean, x=build.emit("forward", sort, x=w)[0])
        with pytest.raises(GradientError, match=r"int32.*no gradient"):
            differentiate(build.finish((), ()))
        _take_out()


def test_a_class_without_a_gradient_keeps_nothing() -> None:
    with pytest.raises(TypeError, match="KEEP_TEST: y is kept for a gradient"):
        make_keep()


def test_the_manual_says_what_is_kept(split: type[Instruction]) -> None:
    access = {field.name: field.kind for field in entry_of(split).operands}
    assert access["order"] == "writes, kept for the gradient"
    assert access["b"] == "writes"
