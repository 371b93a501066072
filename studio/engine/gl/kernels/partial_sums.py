"""Sums over columns that a kernel makes of what it stores: COLUMN_STATS, COLUMN_PRODUCTS.

They follow the kernel's instruction in its fused group. Each work group writes the sums of its own
rows as one part; the kernel of the normalisation adds the parts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from math import prod

from studio.engine.compiler.target import GL
from studio.engine.core.tensor import Ref, Shape
from studio.engine.gl.shader.accessors import Access, Use, indices
from studio.engine.gl.shader.layout import Layout
from studio.engine.isa.ops.norm import ColumnProducts, ColumnSums


@dataclass(frozen=True)
class RowSplit:
    """How the rows of a partial tensor are split; a single part has all rows.

    Attributes:
        parts: how many.
        rows: neighbouring rows per part; parts take turns.
    """

    parts: int = 1
    rows: int = 1


@dataclass(frozen=True)
class PartGrid:
    """How the work groups of a kernel that also sums cover the rows and columns of its result.

    Attributes:
        rows: neighbouring rows of a work group, a part; the last may have fewer.
        span: invocations side by side, four columns each; the others have further rows.
    """

    rows: int
    span: int

    def row_split(self, rows: int) -> RowSplit:
        """How ``rows`` rows are split."""
        return RowSplit(-(-rows // self.rows), self.rows)


@dataclass(frozen=True)
class Sums:
    """Sums of columns that a kernel has to make of what it stores.

    Attributes:
        source: the storage summed.
        result: where the parts go.
        rows: of the source, symbols bound.
        columns: its last dimension.
        partial: whether there may be several parts.
        x: for a gradient, the normalisation's input.
        center: for a gradient, the mean of that input.
    """

    source: Ref
    result: Ref
    rows: int
    columns: int
    partial: bool
    x: Ref | None = None
    center: Ref | None = None

    @classmethod
    def of(cls, ins: ColumnSums, shape: Shape, partial: bool) -> Sums:
        """What a COLUMN_STATS or COLUMN_PRODUCTS wants.

        Args:
            ins: the instruction.
            shape: of what it sums, symbols bound.
            partial: whether its result is a partial tensor.
        """
        *rows, columns = shape
        read = (ins.x, ins.mean) if isinstance(ins, ColumnProducts) else ()
        return cls(ins.source, ins.ref("y"), prod(rows), columns, partial, *read)

    @property
    def read(self) -> tuple[Ref, ...]:
        """Storages it reads besides the source."""
        return tuple(ref for ref in (self.x, self.center) if ref is not None)


@dataclass(frozen=True)
class SumsText:
    """What sums add to a kernel's text.

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


def takeable(
    sums: Sums, grid: PartGrid, touched: AbstractSet[Ref], layout_of: Callable[[Ref], Layout]
) -> bool:
    """Whether a kernel can take sums along.

    Args:
        sums: what is wanted.
        grid: how the kernel lies over it.
        touched: what its stores touch, as a rule four neighbours at once.
        layout_of: how a storage lies.
    """
    read = {*sums.read}
    return (
        sums.source in touched
        and _fits(sums, grid.row_split(sums.rows))
        and not touched & read
        and all(layout_of(ref).vector_rows for ref in (*touched, *read))
    )


def _fits(sums: Sums, split: RowSplit) -> bool:
    """Whether there is room for the parts; a tensor that is not partial is one."""
    few = split.parts * sums.columns <= GL.partial_sums and split.rows >= GL.partial_rows
    return few if sums.partial else split.parts == 1


def sums_text(number: int, sums: Sums, rank: int, layout_of: Callable[[Ref], Layout]) -> SumsText:
    """The text of one pair of sums.

    Args:
        number: tells it from the kernel's others.
        sums: what is wanted.
        rank: dimensions of what is stored.
        layout_of: how a storage lies.
    """
    me, again = f"sums{number}", "true" if number else "false"
    if sums.x is None or sums.center is None:
        return SumsText(_moments(me, again), "", "", f"{me}_note({{}});", (), ())
    names = indices(rank)
    x = Access(f"{me}x", layout_of(sums.x), Use.READ, vector=True)
    center = Access(f"{me}m", layout_of(sums.center), Use.READ, vector=True)
    apart = (
        f"{x.name}_load4({x.name}_cell({', '.join(names)})) - "
        f"{center.name}_load4({center.name}_cell({names[-1]}))"
    )
    note = f"{me}_note({{}}, {me}_apart);"
    read = (sums.x, sums.center)
    return SumsText(_products(me, again), f"{me}_apart", apart, note, (x, center), read)


def leaving_text(found: Sequence[Sums], grid: PartGrid, binding: int, functions: str) -> str:
    """The functions of a kernel with the storages sums go to before them, and how they are left.

    Args:
        found: the sums.
        grid: how the kernel lies over them.
        binding: where the first of those storages is bound.
        functions: the stores, with the functions of ``sums_text``.
    """
    blocks = [
        f"layout(std430, binding = {binding + k}) writeonly buffer sums{k}_block "
        f"{{ vec4 sums{k}_parts[]; }};"
        for k in range(len(found))
    ]
    most = grid.rows
    return "\n".join(
        [
            *blocks,
            functions,
            "void leave_sums(int part, int column) {",
            f"    int rows = Y_NUMEL / SUMS_COLS, parts = (rows + {most - 1}) / {most};",
            f"    rows = min({most}, rows - part * {most});",
            *(f"    sums{k}_leave(part, parts, column, rows);" for k in range(len(found))),
            "}",
        ]
    )


PROTOTYPES = """\
void sums_totals(inout vec4 first, inout vec4 second, bool again);
vec4 sums_top(vec4 value);
bool has_sums(int column);"""
"""Functions of ``lib/partial_sums.glsl`` that the text calls; it calls the result ``y``."""


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
    vec4 origin = sums_top({me}_origin), d = {me}_origin - origin;
    vec4 sum = {me}_sum + {me}_count * d;
    vec4 squares = {me}_squares + d * (2.0 * {me}_sum + {me}_count * d);
    sums_totals(sum, squares, {again});
    if (!has_sums(column)) return;
    vec4 mean = sum / float(rows);
    squares -= sum * mean;
    for (int k = 0; k < 4; ++k) squares[k] = larger(squares[k], 0.0);
    int at = (part * SUMS_COLS + column) / 4;
    {me}_parts[at] = origin + mean;
    {me}_parts[at + parts * (SUMS_COLS / 4)] = squares;
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
    sums_totals(sum, scaled, {again});
    if (!has_sums(column)) return;
    int at = (part * SUMS_COLS + column) / 4;
    {me}_parts[at] = sum;
    {me}_parts[at + parts * (SUMS_COLS / 4)] = scaled;
}}"""
