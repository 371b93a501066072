"""Generates kernels for gradients of broadcast operands: the sum of an expression over repeats."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from studio.engine.core.tensor import Ref, Shape, bind_shape
from studio.engine.gl.kernels.specs import BoundInstruction
from studio.engine.gl.shader.accessors import Access, Use, block, read_functions
from studio.engine.gl.shader.assignments import Assignment
from studio.engine.gl.shader.dispatch import groups_for, split_line
from studio.engine.gl.shader.formula_text import Value
from studio.engine.gl.shader.iteration import iteration_over
from studio.engine.gl.shader.layout import Layout
from studio.engine.gl.shader.planned import PlannedDispatch, ScratchBinding, StorageBinding
from studio.engine.gl.shader.source import assemble, kernel_text

_LOCAL = (64, 1, 1)
_THREADS = {True: 64, False: 16384}
"""Invocations worth having on a software renderer and on a GPU."""
_FEWEST = 8
"""Elements an invocation sums at least, where there are that many."""


def plan_reduction(
    op: BoundInstruction, step: Assignment, shape: Shape
) -> tuple[PlannedDispatch, PlannedDispatch]:
    """Two dispatches: partial sums into scratch storage, and their sum in a fixed order.

    Args:
        op: the instruction.
        step: the assignment; its target is smaller than the index space.
        shape: the index space, symbols kept.
    """
    target = op.layout_of(step.target)
    kept = prod(op.shape_of(step.target))
    summed = prod(bind_shape(shape, op.batch, op.rows)) // max(kept, 1)
    threads = _THREADS[op.caps.is_software]
    splits = min(groups_for(threads, kept), groups_for(summed, _FEWEST))
    refs = tuple(dict.fromkeys(step.operands.values()))
    body = _partial_sums(step, refs, shape, op.layout_of, target)
    first = PlannedDispatch(
        assemble("sum_repeats", body, [], local=_LOCAL, from_file=False),
        (*(StorageBinding(r, Use.READ) for r in refs), ScratchBinding(kept * splits, Use.WRITE)),
        split_line(groups_for(kept * splits, _LOCAL[0])),
        (splits, kept),
    )
    access = Access("y", target, Use.BOTH if step.adds else Use.WRITE, step.adds)
    fold = assemble(
        "fold_scratch", kernel_text("fold_scratch"), [access],
        local=_LOCAL, result="y", scratch=True,
    )  # fmt: skip
    second = PlannedDispatch(
        fold,
        (StorageBinding(step.target, access.use), ScratchBinding(kept * splits, Use.READ)),
        split_line(groups_for(kept, _LOCAL[0])),
        (splits, kept),
    )
    return first, second


def _partial_sums(
    step: Assignment,
    refs: tuple[Ref, ...],
    shape: Shape,
    layout_of: Callable[[Ref], Layout],
    target: Layout,
) -> str:
    layouts = [layout_of(r) for r in refs]
    space = iteration_over(shape, [*layouts, target])
    kept = [k for k, axis in enumerate(space.axes) if axis.strides[-1]]
    summed = [k for k in range(len(space.axes)) if k not in kept]
    heads: list[str] = []
    loads: list[str] = []
    for k, layout in enumerate(layouts):
        access = Access(f"t{k}", layout, Use.READ)
        heads += [f"// t{k}: {layout}", block(access, k)]
        heads += read_functions(access).needed_by(f"t{k}_load()")
        loads.append(f"{layout.value_type} t{k} = t{k}_load({space.cell(k)});")

    def variable(ref: Ref) -> Value:
        k = refs.index(ref)
        return Value(f"t{k}", layouts[k].value_type)

    before, term = step.text(variable, "v_")

    heads.append(
        f"layout(std430, binding = {len(refs)}) buffer scratch_block {{ float scratch[]; }};"
    )
    total = " * ".join(space.axes[k].text for k in summed) or "1"
    lines = [
        "void main() {",
        "    int splits = LAUNCH_0, kept = LAUNCH_1;",
        "    if (THREAD >= splits * kept) return;",
        "    int j = THREAD % kept;",
        *(f"    {line}" for line in _unravel("j", kept, [a.text for a in space.axes])),
        "    float sum = 0.0;",
        f"    for (int r = THREAD / kept; r < {total}; r += splits) {{",
        "        int s = r;",
        *(f"        {line}" for line in _unravel("s", summed, [a.text for a in space.axes])),
        *(f"        {line}" for line in loads),
        *(f"        {line}" for line in before),
        f"        sum += {term.to('float').text};",
        "    }",
        "    scratch[THREAD] = sum;",
        "}",
    ]
    return "\n".join([*heads, *lines])


def _unravel(index: str, axes: list[int], sizes: list[str]) -> list[str]:
    """Statements that set the axis indices from a row-major index over those axes."""
    lines: list[str] = []
    for k in reversed(axes[1:]):
        lines += [f"int c{k} = {index} % {sizes[k]};", f"{index} /= {sizes[k]};"]
    if axes:
        lines.append(f"int c{axes[0]} = {index};")
    return lines
