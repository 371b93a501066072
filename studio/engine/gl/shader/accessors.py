"""Generates the functions a kernel reads and writes its operands with, for any rank and storage."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from enum import Enum
from functools import cache, lru_cache

from studio.engine.core.dtypes import DType
from studio.engine.gl.shader.layout import Layout

ACCESSOR_NAMES = {"step": "step_word", "first": "first_row"}
"""Operands whose accessor has another name, because GLSL has a function of theirs."""


class Use(Enum):
    """What a kernel does with a storage."""

    READ = "readonly "
    WRITE = "writeonly "
    BOTH = ""


@dataclass(frozen=True)
class Access:
    """One operand of one kernel.

    Attributes:
        name: stem of its accessors: ``x`` for data, ``dx`` for a gradient.
        layout: how it lies in storage.
        use: whether the kernel reads it, writes it, or both.
        adds: ``store_…`` adds to what is there instead of replacing it.
        vector: load and store four elements at once where the layout allows.
        stored: whether it has storage; a register of a fused group has none.
    """

    name: str
    layout: Layout
    use: Use
    adds: bool = False
    vector: bool = False
    stored: bool = True

    @property
    def vec4(self) -> bool:
        """Whether the storage is declared as an array of vec4."""
        return self.vector and self.layout.vector_rows


@dataclass
class FunctionSet:
    """Functions that may be needed, and those that are, in order of declaration."""

    bodies: dict[str, str] = field(default_factory=dict)

    def add(self, name: str, body: str) -> None:
        """Offer a function."""
        self.bodies[name] = body

    def needed_by(self, *texts: str) -> list[str]:
        """The functions that texts call, and those they call, in order."""
        return self.reached_from(frozenset[str]().union(*map(calls_in, texts)))

    def reached_from(self, called: AbstractSet[str]) -> list[str]:
        """The functions of these names, and those they call, in order."""
        wanted = self.bodies.keys() & called
        pending = list(wanted)
        while pending:
            further = self.bodies.keys() & calls_in(self.bodies[pending.pop()]) - wanted
            wanted |= further
            pending += further
        return [body for name, body in self.bodies.items() if name in wanted]


@lru_cache(maxsize=1 << 12)
def calls_in(text: str) -> frozenset[str]:
    """Names that stand before an opening parenthesis, comments left out."""
    text = re.sub(r"//.*", "", text)
    return frozenset(re.findall(r"\b([A-Za-z_]\w*)\s*\(", text))


def indices(rank: int) -> list[str]:
    """Names of the index parameters of that rank."""
    return [f"i{k}" for k in range(rank)]


@cache
def parameters(rank: int) -> str:
    """The index parameters as a declaration."""
    return ", ".join(f"int {name}" for name in indices(rank))


def cell_expression(layout: Layout, names: list[str]) -> str:
    """The cell of an element; dimensions of length 1 are squeezed out."""
    terms = [str(layout.offset)] if layout.offset else []
    for name, size, stride in zip(names, layout.sizes, layout.strides, strict=True):
        if size != 1 and stride:
            terms.append(name if stride == 1 else f"{name} * {stride}")
    return " + ".join(terms) or "0"


def macros(access: Access) -> list[str]:
    """Sizes, strides and types of an operand as macros."""
    up, layout = access.name.upper(), access.layout
    lines = [
        f"// {access.name}: {layout}",
        f"#define {up}_T {layout.value_type}",
        f"#define {up}_RANK {max(layout.rank, 1)}",
        f"#define {up}_NUMEL {layout.numel_text()}",
        f"#define {up}_VEC4 {int(access.vec4)}",
    ]
    for k in range(layout.rank):
        lines.append(f"#define {up}_D{k} {layout.size_text(k)}")
        lines.append(f"#define {up}_S{k} {layout.strides[k]}")
    if access.use is not Use.READ:
        lines.append(f"#define {up}_ADDS {int(access.adds)}")
    return lines


def block(access: Access, binding: int) -> str:
    """The declaration of an operand's storage."""
    kind = "uint"
    if access.layout.dtype is DType.float32:
        kind = "vec4" if access.vec4 else "float"
    elif access.layout.dtype is DType.int32:
        kind = "int"
    name = access.name
    use = Use.BOTH if access.adds else access.use
    return (
        f"layout(std430, binding = {binding}) {use.value}buffer {name}_block "
        f"{{ {kind} {name}_data[]; }};"
    )


def read_functions(access: Access) -> FunctionSet:
    """Every way to read an operand."""
    name, layout = access.name, access.layout
    kind, rank = layout.value_type, layout.rank
    functions = FunctionSet()
    functions.add(f"{name}_load", _load(access))
    _address_functions(functions, access)
    call = f"{name}_load({name}_cell({', '.join(indices(rank))}))"
    functions.add(name, f"{kind} {name}({parameters(rank)}) {{ return {call}; }}")
    functions.add(
        f"{name}_at", f"{kind} {name}_at(int i) {{ return {name}_load({name}_cell_at(i)); }}"
    )
    functions.add(
        f"{name}_v",
        f"{kind} {name}_v(int at[{max(rank, 1)}]) {{ return {name}_load({name}_cell_v(at)); }}",
    )
    if kind == "float":
        _vector_reads(functions, access)
    return functions


def _vector_reads(functions: FunctionSet, access: Access) -> None:
    name, rank = access.name, access.layout.rank
    if access.vec4:
        body = f"return {name}_data[cell >> 2];"
    else:
        parts = ", ".join(f"{name}_load(cell + {k})" for k in range(4))
        body = f"return vec4({parts});"
    functions.add(f"{name}_load4", f"vec4 {name}_load4(int cell) {{ {body} }}")
    if rank and access.layout.strides[-1] == 1:
        call = f"{name}_load4({name}_cell({', '.join(indices(rank))}))"
        functions.add(f"{name}4", f"vec4 {name}4({parameters(rank)}) {{ return {call}; }}")


def _load(access: Access) -> str:
    name, layout = access.name, access.layout
    match layout.dtype:
        case DType.float32 if access.vec4:
            value = f"{name}_data[cell >> 2][cell & 3]"
        case DType.float32 | DType.int32:
            value = f"{name}_data[cell]"
        case DType.float16:
            value = f"unpackHalf2x16({name}_data[cell >> 1])[cell & 1]"
        case DType.uint8:
            value = f"int(({name}_data[cell >> 2] >> uint((cell & 3) * 8)) & 255u)"
        case DType.int8:
            value = f"bitfieldExtract(int({name}_data[cell >> 2]), (cell & 3) * 8, 8)"
        case DType.bool:
            value = f"({name}_data[cell] != 0u ? 1 : 0)"
    return f"{layout.value_type} {name}_load(int cell) {{ return {value}; }}"


def _address_functions(functions: FunctionSet, access: Access) -> None:
    """From indices, from a linear index, and from an array of indices to a cell."""
    name, layout = access.name, access.layout
    rank = layout.rank
    names = indices(rank)
    functions.add(
        f"{name}_cell",
        f"int {name}_cell({parameters(rank)}) {{ return {cell_expression(layout, names)}; }}",
    )
    array = ", ".join(f"at[{k}]" for k in range(rank))
    functions.add(
        f"{name}_cell_v",
        f"int {name}_cell_v(int at[{max(rank, 1)}]) {{ return {name}_cell({array}); }}",
    )
    functions.add(f"{name}_coords", coordinates(f"{name}_coords", layout))
    sizes = ", ".join(layout.size_text(k) for k in range(rank)) or "1"
    functions.add(
        f"{name}_sizes",
        f"void {name}_sizes(out int sizes[{max(rank, 1)}]) "
        f"{{ sizes = int[{max(rank, 1)}]({sizes}); }}",
    )
    if layout.dense:
        functions.add(f"{name}_cell_at", f"int {name}_cell_at(int i) {{ return i; }}")
    else:
        functions.add(
            f"{name}_cell_at",
            f"int {name}_cell_at(int i) {{\n    int at[{max(rank, 1)}];\n"
            f"    {name}_coords(i, at);\n    return {name}_cell_v(at);\n}}",
        )


def coordinates(function: str, layout: Layout) -> str:
    """A function from a row-major index to the index of every dimension."""
    rank = layout.rank
    lines = [f"void {function}(int i, out int at[{max(rank, 1)}]) {{"]
    if rank == 0:
        lines.append("    at[0] = 0;")
    for k in range(rank - 1, 0, -1):
        size = layout.sizes[k]
        lines.append(f"    at[{k}] = {'0' if size == 1 else f'i % {size}'};")
        if size != 1:
            lines.append(f"    i /= {size};")
    if rank:
        lines.append("    at[0] = i;")
    return "\n".join([*lines, "}"])


def write_functions(access: Access) -> FunctionSet:
    """Every way to write an operand; packed types are written by whole words, see ``put_words``."""
    name, layout = access.name, access.layout
    kind, rank = layout.value_type, layout.rank
    functions = read_functions(access) if access.use is Use.BOTH or access.adds else FunctionSet()
    if not functions.bodies:
        _address_functions(functions, access)
    if layout.per_word == 1:
        functions.add(f"{name}_put", _put(access))
        call = f"{name}_put({name}_cell({', '.join(indices(rank))}), value)"
        declared = ", ".join([*(f"int {n}" for n in indices(rank)), f"{kind} value"])
        functions.add(f"store_{name}", f"void store_{name}({declared}) {{ {call}; }}")
    if layout.dtype is DType.int32 and access.use is Use.BOTH:
        # Whole numbers are the same in whatever order invocations add to them.
        cell = f"{name}_data[{name}_cell({', '.join(indices(rank))})]"
        body = f"void count_{name}({parameters(rank)}) {{ atomicAdd({cell}, 1); }}"
        functions.add(f"count_{name}", body)
    if access.layout.dtype is DType.float32 and rank and layout.strides[-1] == 1:
        functions.add(f"{name}_put4", _put4(access))
        call = f"{name}_put4({name}_cell({', '.join(indices(rank))}), value)"
        declared = ", ".join([*(f"int {n}" for n in indices(rank)), "vec4 value"])
        functions.add(f"store_{name}4", f"void store_{name}4({declared}) {{ {call}; }}")
    if layout.per_word > 1 and layout.dense:
        functions.add(f"{name}_put_word", word_writer(access))
    add_indirect_stores(functions, access)
    return functions


def add_indirect_stores(functions: FunctionSet, access: Access) -> None:
    """Stores by linear index and by index array, in terms of ``store_…``."""
    name, layout = access.name, access.layout
    kind, rank = layout.value_type, layout.rank
    if layout.per_word != 1:
        return
    array = ", ".join([*(f"at[{k}]" for k in range(rank)), "value"])
    size = max(rank, 1)
    functions.add(
        f"store_{name}_v",
        f"void store_{name}_v(int at[{size}], {kind} value) {{ store_{name}({array}); }}",
    )
    functions.add(
        f"store_{name}_at",
        f"void store_{name}_at(int i, {kind} value) {{\n    int at[{size}];\n"
        f"    {name}_coords(i, at);\n    store_{name}_v(at, value);\n}}"
        if not layout.dense
        else f"void store_{name}_at(int i, {kind} value) {{ {name}_put(i, value); }}",
    )
    if layout.dtype is DType.float32 and layout.rank and layout.strides[-1] == 1:
        dense = f"void store_{name}4_at(int i, vec4 value) {{ {name}_put4(i, value); }}"
        functions.add(f"store_{name}4_at", dense if layout.dense else store_four_at(access))


def store_four_at(access: Access) -> str:
    """A function that stores four neighbours of a row from a row-major index on."""
    name, rank = access.name, access.layout.rank
    listed = ", ".join([*(f"at[{k}]" for k in range(rank)), "value"])
    return (
        f"void store_{name}4_at(int i, vec4 value) {{\n    int at[{rank}];\n"
        f"    {name}_coords(i, at);\n    store_{name}4({listed});\n}}"
    )


def _put(access: Access) -> str:
    name, layout = access.name, access.layout
    cell = f"{name}_data[cell >> 2][cell & 3]" if access.vec4 else f"{name}_data[cell]"
    value = "uint(value != 0)" if layout.dtype is DType.bool else "value"
    sign = "+=" if access.adds else "="
    return f"void {name}_put(int cell, {layout.value_type} value) {{ {cell} {sign} {value}; }}"


def _put4(access: Access) -> str:
    name = access.name
    sign = "+=" if access.adds else "="
    if access.vec4:
        body = f"{name}_data[cell >> 2] {sign} value;"
    else:
        body = " ".join(f"{name}_data[cell + {k}] {sign} value[{k}];" for k in range(4))
    return f"void {name}_put4(int cell, vec4 value) {{ {body} }}"


def word_writer(access: Access) -> str:
    """A function that writes the word ``word`` of a dense packed operand from four values."""
    name, dtype = access.name, access.layout.dtype
    kind = access.layout.value_type
    if dtype is DType.float16:
        body = (
            f"{name}_data[word * 2] = packHalf2x16(vec2(v[0], v[1]));\n"
            f"    {name}_data[word * 2 + 1] = packHalf2x16(vec2(v[2], v[3]));"
        )
    elif dtype is DType.uint8 or dtype is DType.int8:
        parts = " | ".join(f"(uint(v[{k}]) & 255u) << {8 * k}" for k in range(4))
        body = f"{name}_data[word] = {parts};"
    else:
        raise ValueError(f"{dtype} is not packed")
    return f"void {name}_put_word(int word, {kind} v[4]) {{\n    {body}\n}}"


@lru_cache(maxsize=1 << 9)
def stores_in(text: str) -> frozenset[str]:
    """Names of the ``store_…`` functions a text defines."""
    return frozenset(re.findall(r"\bvoid\s+(store_\w+)\s*\(", text))


@lru_cache(maxsize=1 << 9)
def _head(access: Access) -> str:
    return "\n".join(macros(access))


@lru_cache(maxsize=1 << 9)
def _offered(access: Access) -> FunctionSet:
    """Every function a kernel may call to get at an operand, in order; not to be changed."""
    return read_functions(access) if access.use is Use.READ else write_functions(access)


@lru_cache(maxsize=1 << 10)
def _needed(access: Access, called: frozenset[str], own: frozenset[str]) -> str:
    """The functions of an operand that a kernel needs which calls some and has others itself."""
    offered = _offered(access).bodies
    rest = FunctionSet({name: body for name, body in offered.items() if name not in own})
    return "\n".join(rest.reached_from(called))


def declare(accesses: Iterable[Access], pieces: Sequence[str]) -> tuple[str, str]:
    """Macros and blocks of all operands, and the functions the pieces of a kernel call.

    A ``store_…`` that a piece defines itself (an epilogue) is not generated.
    """
    heads: list[str] = []
    functions: list[str] = []
    own = frozenset[str]().union(*map(stores_in, pieces))
    called = frozenset[str]().union(*map(calls_in, pieces))
    binding = 0
    for access in accesses:
        heads.append(_head(access))
        if access.stored:
            heads.append(block(access, binding))
            binding += 1
        names = _offered(access).bodies.keys()
        functions.append(_needed(access, called.intersection(names), own.intersection(names)))
    return "\n".join(heads), "\n".join(text for text in functions if text)
