"""Sums over columns that a kernel takes along of what it stores, for the normalisation behind it.

A normalisation begins with sums over all rows of each column. The kernel that makes its input (or,
in the backward pass, the gradient of its result) has every element at hand: each work group leaves
the sums of its own rows as one part, and the normalisation joins the parts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from studio.engine.core.tensor import Ref
from studio.engine.gl.accessors import Access, Use, indices
from studio.engine.gl.layout import Layout

if TYPE_CHECKING:
    from studio.engine.gl.specs import Case

MOST_SUMS = 16384
"""Sums of parts, of all columns, that every work group of a normalisation may join for itself."""


@dataclass(frozen=True)
class TallyGrid:
    """How a kernel that can take sums along lies over the rows and columns of its result.

    Attributes:
        rows: neighbouring rows of a work group, a part; the last may have fewer.
        span: invocations side by side, four columns each; the others have further rows.
    """

    rows: int
    span: int

    def parts(self, rows: int) -> int:
        """Parts of so many rows."""
        return -(-rows // self.rows)


@dataclass(frozen=True)
class Tally:
    """What a normalisation wants to know of what another entry stores.

    Attributes:
        key: number of the normalisation's entry.
        noted: the storage summed.
        columns: its last dimension.
        x: for a gradient, the normalisation's input.
        center: for a gradient, the mean of that input.
    """

    key: int
    noted: Ref
    columns: int
    x: Ref | None = None
    center: Ref | None = None

    @property
    def storages(self) -> int:
        """Storages it brings to a kernel."""
        return 1 + (self.x is not None) + (self.center is not None)


@dataclass(frozen=True)
class Tallied:
    """Sums that are there when a normalisation runs.

    Attributes:
        key: number of its entry.
        parts: how many.
        rows: rows of a part.
    """

    key: int
    parts: int
    rows: int


@dataclass(frozen=True)
class TallyText:
    """What a tally adds to a kernel's text.

    Attributes:
        functions: variables, the function that notes four elements, the one that leaves the sums.
        apart: variable of what is read besides, over the indices of the elements; or nothing.
        expression: how it is read.
        note: the call that notes a value; ``{}`` stands for it.
        accesses: storages it reads.
        storages: the same as operands.
    """

    functions: str
    apart: str
    expression: str
    note: str
    accesses: tuple[Access, ...]
    storages: tuple[Ref, ...]


def takeable(case: Case, tally: Tally, grid: TallyGrid, touched: AbstractSet[Ref]) -> bool:
    """Whether a kernel can take sums along.

    Args:
        case: its instruction.
        tally: what is to be summed.
        grid: how the kernel lies over it.
        touched: what its stores touch, as a rule four neighbours at once.
    """
    shape = case.shape_of(tally.noted)
    read = [ref for ref in (tally.x, tally.center) if ref is not None]
    sums = grid.parts(prod(shape) // tally.columns) * tally.columns
    return (
        tally.noted in touched
        and shape[-1] == tally.columns
        and sums <= MOST_SUMS
        and not touched & {*read}
        and all(case.layout_of(ref).vector_rows for ref in (*touched, *read))
    )


def tally_text(
    number: int, tally: Tally, rank: int, layout_of: Callable[[Ref], Layout]
) -> TallyText:
    """The text of one tally.

    Args:
        number: tells it from the kernel's others.
        tally: what is summed.
        rank: dimensions of what is stored.
        layout_of: how a storage lies.
    """
    me, again = f"tally{number}", "true" if number else "false"
    if tally.x is None or tally.center is None:
        return TallyText(_moments(me, again), "", "", f"{me}_note({{}});", (), ())
    names = indices(rank)
    x = Access(f"{me}x", layout_of(tally.x), Use.READ, vector=True)
    center = Access(f"{me}m", layout_of(tally.center), Use.READ, vector=True)
    apart = (
        f"{x.name}_load4({x.name}_cell({', '.join(names)})) - "
        f"{center.name}_load4({center.name}_cell({names[-1]}))"
    )
    note = f"{me}_note({{}}, {me}_apart);"
    read = (tally.x, tally.center)
    return TallyText(_products(me, again), f"{me}_apart", apart, note, (x, center), read)


def tallied_text(tallies: Sequence[Tally], grid: TallyGrid, binding: int, functions: str) -> str:
    """The functions of a kernel with the storages sums go to before them, and how they are left.

    Args:
        tallies: what is summed.
        grid: how the kernel lies over it.
        binding: where the first of those storages is bound.
        functions: the stores, with the functions of ``tally_text``.
    """
    blocks = [
        f"layout(std430, binding = {binding + k}) writeonly buffer tally{k}_block "
        f"{{ vec4 tally{k}_sums[]; }};"
        for k in range(len(tallies))
    ]
    most = grid.rows
    return "\n".join(
        [
            *blocks,
            functions,
            "void leave_tallies(int part, int column) {",
            f"    int rows = Y_NUMEL / TALLY_COLS, parts = (rows + {most - 1}) / {most};",
            f"    rows = min({most}, rows - part * {most});",
            *(f"    tally{k}_leave(part, parts, column, rows);" for k in range(len(tallies))),
            "}",
        ]
    )


PROTOTYPES = """\
void tally_totals(inout vec4 first, inout vec4 second, bool again);
vec4 tally_top(vec4 value);
bool tally_leaves(int column);"""
"""Functions of ``lib/tallies.glsl`` that the generated text calls; it calls the result ``y``."""


def _moments(me: str, again: str) -> str:
    """Mean and sum of squared deviations, of differences from an element, for accuracy."""
    return f"""\
vec4 {me}_origin = vec4(0.0), {me}_sum = vec4(0.0), {me}_squares = vec4(0.0);
float {me}_count = 0.0;
void {me}_note(vec4 value) {{
    if ({me}_count == 0.0) {me}_origin = value;
    vec4 d = value - {me}_origin;
    {me}_sum += d;
    {me}_squares += d * d;
    {me}_count += 1.0;
}}
void {me}_leave(int part, int parts, int column, int rows) {{
    vec4 origin = tally_top({me}_origin), d = {me}_origin - origin;
    vec4 sum = {me}_sum + {me}_count * d;
    vec4 squares = {me}_squares + d * (2.0 * {me}_sum + {me}_count * d);
    tally_totals(sum, squares, {again});
    if (!tally_leaves(column)) return;
    vec4 mean = sum / float(rows);
    squares -= sum * mean;
    for (int k = 0; k < 4; ++k) squares[k] = larger(squares[k], 0.0);
    int at = (part * TALLY_COLS + column) / 4;
    {me}_sums[at] = origin + mean;
    {me}_sums[at + parts * (TALLY_COLS / 4)] = squares;
}}"""


def _products(me: str, again: str) -> str:
    """Sums of the elements, and of the elements times what the input is away from its mean."""
    return f"""\
vec4 {me}_sum = vec4(0.0), {me}_scaled = vec4(0.0);
void {me}_note(vec4 value, vec4 apart) {{
    {me}_sum += value;
    {me}_scaled += value * apart;
}}
void {me}_leave(int part, int parts, int column, int rows) {{
    vec4 sum = {me}_sum, scaled = {me}_scaled;
    tally_totals(sum, scaled, {again});
    if (!tally_leaves(column)) return;
    int at = (part * TALLY_COLS + column) / 4;
    {me}_sums[at] = sum;
    {me}_sums[at + parts * (TALLY_COLS / 4)] = scaled;
}}"""
