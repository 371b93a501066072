"""One dispatch for many parameters: a table says where each stretch of elements lies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

import numpy as np
import numpy.typing as npt

from studio.engine.core.tensor import Ref
from studio.engine.gl.kernels.specs import BoundInstruction
from studio.engine.gl.shader.accessors import Access, Use, block, read_functions
from studio.engine.gl.shader.dispatch import split_line
from studio.engine.gl.shader.formula_text import Value, declared, expression_text
from studio.engine.gl.shader.glsl_text import for_each_lane, int_literal
from studio.engine.gl.shader.planned import (
    ArenaBinding,
    Binding,
    PlannedDispatch,
    StorageBinding,
    TableBinding,
)
from studio.engine.gl.shader.source import assemble
from studio.engine.isa.instruction import Instruction
from studio.engine.isa.ops.update import Update

Place = Callable[[Ref], tuple[int | str, int]]
"""Where a storage lies: a number that stands for its buffer, and its offset there in bytes."""

CHUNK = 1024
"""Elements one work group updates; a multiple of four, so that all loads are vec4."""
_LOCAL = (256, 1, 1)
"""A quadruple an invocation: loads of one that went over several would wait for each other."""


def plan_updates(ops: Sequence[BoundInstruction], place: Place) -> list[PlannedDispatch]:
    """The dispatches of update instructions: one for all that are alike and share buffers.

    Args:
        ops: the instructions.
        place: where storages lie.
    """
    alike: dict[tuple[object, ...], list[BoundInstruction]] = {}
    for op in ops:
        ins = op.ins
        buffers = tuple(place(ref)[0] for _, ref in streams(ins))
        key = (ins.mnemonic, tuple(ins.attrs.items()), ins.ref("step"), ins.ref("rates"), buffers)
        alike.setdefault(key, []).append(op)
    return [_plan(group, place) for group in alike.values()]


def streams(ins: Instruction) -> list[tuple[str, Ref]]:
    """Operands that have an element per parameter element, by name."""
    skipped = ("step", "rates")
    return [(s.name, r) for s, r in ins.named_operands() if s.name not in skipped and r.present]


def changed(ins: Instruction) -> set[str]:
    """Names of the streams that change: everything but the gradient."""
    return {name for name, _ in streams(ins)} - {"g"}


def _plan(group: Sequence[BoundInstruction], place: Place) -> PlannedDispatch:
    first = group[0]
    names = [name for name, _ in streams(first.ins)]
    begins = [min(place(op.ref(name))[1] for op in group) for name in names]
    table = np.concatenate([_segments(op, begins, place) for op in group]).astype(np.int32)
    written = changed(first.ins)
    bindings: list[Binding] = [
        TableBinding(table.tobytes()),
        StorageBinding(first.ref("step"), Use.READ),
        StorageBinding(first.ref("rates"), Use.READ),
    ]
    for name in names:
        refs = tuple(op.ref(name) for op in group)
        bindings.append(ArenaBinding(refs, Use.BOTH if name in written else Use.READ))
    source = assemble(
        first.ins.mnemonic.lower(),
        _body(first, names),
        [],
        local=_LOCAL,
        from_file=False,
    )
    return PlannedDispatch(
        source, tuple(bindings), split_line(len(table)), (len(table), 0), "segments"
    )


def _segments(op: BoundInstruction, begins: Sequence[int], place: Place) -> npt.NDArray[np.int64]:
    """A row for each work group of a parameter: elements, and where each stream's first four lie.

    Args:
        op: the parameter's update.
        begins: bytes from which on the streams' places count.
        place: where storages lie.
    """
    offsets = [
        (place(ref)[1] - begin) // 16
        for (_, ref), begin in zip(streams(op.ins), begins, strict=True)
    ]
    count = prod(op.shape("w"))
    firsts = np.arange(0, count, CHUNK)
    lengths = np.minimum(CHUNK, count - firsts)
    return np.stack([lengths, *(offset + firsts // 4 for offset in offsets)], axis=1)


def _reading(access: Access, binding: int) -> list[str]:
    return [block(access, binding), *read_functions(access).needed_by(f"{access.name}()")]


def _statements(ins: Instruction, names: Sequence[str]) -> tuple[list[str], list[str]]:
    """What an invocation computes once, and what for each element, whose operands end in `_one`."""
    if not isinstance(ins, Update):
        raise TypeError(f"{ins.mnemonic} is no update")
    steps = ins.steps()
    known = {name: Value(name, "float") for name in ("lr", "t")}
    once = [declared(step, known, "once_") for step in steps.once]
    known |= {name: Value(f"{name}_one", "float") for name in names}
    lines: list[str] = []
    for step in steps.each:
        if step.name in names:
            value = expression_text(step.value, known).to("float")
            lines.append(f"{known[step.name].text} = {value.text};")
        else:
            lines.append(declared(step, known, "its_"))
    return once, lines


def _body(op: BoundInstruction, names: list[str]) -> str:
    step = Access("step_word", op.layout("step"), Use.READ)
    rates = Access("rates", op.layout("rates"), Use.READ)
    heads = ["layout(std430, binding = 0) readonly buffer table_block { int table[]; };"]
    heads += [*_reading(step, 1), *_reading(rates, 2)]
    written = changed(op.ins)
    for binding, name in enumerate(names, 3):
        use = "" if name in written else "readonly "
        heads.append(
            f"layout(std430, binding = {binding}) {use}buffer {name}_block "
            f"{{ vec4 {name}_data[]; }};"
        )
    width = len(names) + 1
    (periods,) = op.shape("rates")
    quads = [f"int {n}_at = table[row + {k}] + q;" for k, n in enumerate(names, 1)]
    loads = [f"vec4 {n}_four = {n}_data[{n}_at];" for n in names]
    lanes = [f"float {n}_one = {n}_four[k];" for n in names]
    backs = [f"{n}_four[k] = {n}_one;" for n in names if n in written]
    once, statements = _statements(op.ins, names)
    stores = [f"{n}_data[{n}_at] = {n}_four;" for n in names if n in written]
    return "\n".join(
        [
            *heads,
            "void main() {",
            "    if (GROUP >= LAUNCH_0) return;",
            f"    int row = GROUP * {width};",
            "    int count = table[row];",
            f"    float lr = rates(step_word(0) % {int_literal(periods)});",
            "    float t = float(step_word(3));",
            *(f"    {line}" for line in once),
            f"    for (int q = int(gl_LocalInvocationIndex); q * 4 < count; q += {_LOCAL[0]}) {{",
            *(f"        {line}" for line in [*quads, *loads]),
            *(f"        {line}" for line in for_each_lane([*lanes, *statements, *backs])),
            *(f"        {line}" for line in stores),
            "    }",
            "}",
        ]
    )
