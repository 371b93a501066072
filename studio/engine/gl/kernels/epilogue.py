"""Applies the element-wise tail of a fused group where its producer stores its result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from studio.engine.core.tensor import Ref
from studio.engine.gl.kernels.element_kernel import ElementText
from studio.engine.gl.kernels.partial_sums import PROTOTYPES, Sums, SumsText, sums_text
from studio.engine.gl.shader.accessors import Access, Use, indices, parameters, store_four_at
from studio.engine.gl.shader.assignments import Assignment
from studio.engine.gl.shader.glsl_text import for_each_lane
from studio.engine.gl.shader.layout import Layout


@dataclass(frozen=True)
class Epilogue:
    """The tail of a group and what to know about its tensors.

    Attributes:
        assignments: what follows the producer, in order.
        produced: the producer's result, an input of the first assignment.
        layout_of: how a storage lies.
        has_storage: False for registers.
        sums: sums accumulated while storing, four elements at once.
        held_stores: how many stores may come after all their loads; 0 for none.
    """

    assignments: tuple[Assignment, ...]
    produced: Ref
    layout_of: Callable[[Ref], Layout]
    has_storage: Callable[[Ref], bool]
    sums: tuple[Sums, ...] = ()
    held_stores: int = 0


@dataclass(frozen=True)
class EpilogueText:
    """What the tail adds to a kernel.

    Attributes:
        functions: ``store_…`` and ``store_…4`` of the producer's result, and its indirect forms.
        accesses: storages it reads and writes, behind the producer's own.
        storages: the same as operands.
    """

    functions: str
    accesses: tuple[Access, ...]
    storages: tuple[Ref, ...]


def epilogue_text(result: Access, tail: Epilogue, *, adds: bool = False) -> EpilogueText:
    """The functions that take the place of the generated stores of ``result``.

    Args:
        result: the producer's result as an operand; ``stored`` tells whether it is kept.
        tail: what to apply.
        adds: whether the producer adds to what is there; the tail is applied to the sum.
    """
    produced = tail.produced
    text = ElementText(
        tail.assignments, tail.layout_of, lambda r: r != produced and tail.has_storage(r), "e"
    )
    accesses = tuple(replace(a, vector=result.vector) for a in text.accesses())
    rank = result.layout.rank
    names = indices(rank)
    cells = {
        ref: f"{a.name}_cell({', '.join(names[rank - a.layout.rank :])})"
        for ref, a in zip(text.order, accesses, strict=True)
    }
    own = f"{result.name}_cell({', '.join(names)})"
    functions = [_scalar_store(result, produced, text, {**cells, produced: own}, adds)]
    notes = [sums_text(k, one, rank, tail.layout_of) for k, one in enumerate(tail.sums)]
    if notes:
        functions[:0] = [PROTOTYPES, *(note.functions for note in notes)]
    if rank and all(_vector_ready(a, a.use is not Use.READ) for a in (result, *accesses)):
        functions.append(
            _vector_store(result, tail, text, accesses, {**cells, produced: own}, adds, notes)
        )
    elif rank:
        functions.append(_split_store(result))
    functions += _indirect_stores(result)
    accesses += tuple(access for note in notes for access in note.accesses)
    storages = [*text.order, *(ref for note in notes for ref in note.storages)]
    return EpilogueText("\n".join(functions), accesses, tuple(storages))


def _scalar_store(
    result: Access, produced: Ref, text: ElementText, cells: dict[Ref, str], adds: bool
) -> str:
    inputs = {r: f"{text.names[r]}_load({cells[r]})" for r in text.reads}
    lines, written = text.statements({**inputs, produced: "value"})
    if result.stored:
        lines.insert(0, f"{result.name}_put({cells[produced]}, value);")
    if adds:
        lines.insert(0, f"value += {result.name}_load({cells[produced]});")
    lines += [f"{text.names[r]}_put({cells[r]}, {written[r]});" for r in text.writes]
    return _function(f"store_{result.name}", result, "float value", lines)


def _vector_ready(access: Access, written: bool) -> bool:
    """Whether four neighbours of an operand are one access, or, when only read, one value."""
    layout = access.layout
    if layout.value_type != "float" or layout.per_word != 1:
        return False
    repeats = layout.rank == 0 or layout.sizes[-1] == 1
    return layout.vector_rows or (repeats and not written)


def _vector_store(
    result: Access,
    tail: Epilogue,
    text: ElementText,
    accesses: Sequence[Access],
    cells: dict[Ref, str],
    adds: bool,
    notes: Sequence[SumsText],
) -> str:
    own = cells[tail.produced]
    loads = [_Load("vec4", note.apart, note.expression) for note in notes if note.apart]
    if adds:
        loads.append(_Load("vec4", f"{result.name}_old", f"{result.name}_load4({own})"))
    before = [f"values += {result.name}_old;"] if adds else []
    inputs: dict[Ref, str] = {}
    after: list[str] = []
    for ref, access in zip(text.order, accesses, strict=True):
        name = access.name
        if ref in text.reads and access.layout.vector_rows:
            loads.append(_Load("vec4", f"{name}_four", f"{name}_load4({cells[ref]})"))
            inputs[ref] = f"{name}_four[k]"
        elif ref in text.reads:
            loads.append(_Load("float", f"{name}_one", f"{name}_load({cells[ref]})"))
            inputs[ref] = f"{name}_one"
        if ref in text.writes:
            before.append(f"vec4 {name}_new;")
            after.append(f"{name}_put4({cells[ref]}, {name}_new);")
    lines, written = text.statements({**inputs, tail.produced: "values[k]"})
    lines += [f"{text.names[r]}_new[k] = {written[r]};" for r in text.writes]
    for one, note in zip(tail.sums, notes, strict=True):
        new = "values" if one.source == tail.produced else f"{text.names[one.source]}_new"
        after.append(note.note.format(new))
    if result.stored:
        before.append(f"{result.name}_put4({own}, values);")
    body = [*before, *for_each_lane(lines), *after]
    name = f"store_{result.name}4"
    if not tail.held_stores or not loads:
        return _function(name, result, "vec4 values", [*(one.now for one in loads), *body])
    return _holding(name, result, loads, body, tail.held_stores)


@dataclass(frozen=True)
class _Load:
    """A value that a store reads: its type, its variable, and where it comes from."""

    kind: str
    name: str
    expression: str

    @property
    def now(self) -> str:
        return f"{self.kind} {self.name} = {self.expression};"

    @property
    def held(self) -> str:
        return f"{self.kind} {self.name} = {self.name}_held[slot];"


def _holding(
    name: str, result: Access, loads: Sequence[_Load], body: Sequence[str], held_stores: int
) -> str:
    """A store in two steps: what it reads is read for several of them before the first stores."""
    rank = result.layout.rank
    hold, given = f"hold_{result.name}4", ", ".join(indices(rank))
    coordinates = [f"int at[{rank}];", f"{result.name}_coords(i, at);"]
    found = ", ".join(f"at[{k}]" for k in range(rank))
    listed = parameters(rank)
    return "\n".join(
        [
            f"#define {result.name.upper()}_HOLDS {held_stores}",
            *(f"{one.kind} {one.name}_held[{held_stores}];" for one in loads),
            *_lines(
                f"void {hold}(int slot, {listed})",
                [f"{one.name}_held[slot] = {one.expression};" for one in loads],
            ),
            *_lines(
                f"void {name}_held(int slot, {listed}, vec4 values)",
                [*(one.held for one in loads), *body],
            ),
            *_lines(
                f"void {name}({listed}, vec4 values)",
                [f"{hold}(0, {given});", f"{name}_held(0, {given}, values);"],
            ),
            *_lines(f"void {hold}_at(int slot, int i)", [*coordinates, f"{hold}(slot, {found});"]),
            *_lines(
                f"void {name}_held_at(int slot, int i, vec4 values)",
                [*coordinates, f"{name}_held(slot, {found}, values);"],
            ),
        ]
    )


def _split_store(result: Access) -> str:
    names = indices(result.layout.rank)
    arguments = ", ".join([*names[:-1], f"{names[-1]} + k", "values[k]"])
    line = f"for (int k = 0; k < 4; ++k) store_{result.name}({arguments});"
    return _function(f"store_{result.name}4", result, "vec4 values", [line])


def _indirect_stores(result: Access) -> list[str]:
    name, rank = result.name, result.layout.rank
    size = max(rank, 1)
    arguments = ", ".join([*(f"at[{k}]" for k in range(rank)), "value"])
    four = [store_four_at(result)] if rank else []
    return [
        *four,
        f"void store_{name}_v(int at[{size}], float value) {{ store_{name}({arguments}); }}",
        (
            f"void store_{name}_at(int i, float value) {{\n    int at[{size}];\n"
            f"    {name}_coords(i, at);\n    store_{name}_v(at, value);\n}}"
        ),
    ]


def _function(name: str, result: Access, last: str, lines: Sequence[str]) -> str:
    listed = ", ".join(part for part in (parameters(result.layout.rank), last) if part)
    return "\n".join(_lines(f"void {name}({listed})", lines))


def _lines(head: str, body: Sequence[str]) -> list[str]:
    return [f"{head} {{", *(f"    {line}" for line in body), "}"]
