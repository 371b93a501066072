"""Generates kernels for runs of element-wise assignments over one index space."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from studio.engine.core.dtypes import DType
from studio.engine.core.tensor import Ref, Shape
from studio.engine.gl.shader.accessors import (
    Access,
    Use,
    block,
    macros,
    read_functions,
    write_functions,
)
from studio.engine.gl.shader.assignments import Assignment, storages_of
from studio.engine.gl.shader.dispatch import groups_for
from studio.engine.gl.shader.formula_text import Value
from studio.engine.gl.shader.glsl_text import VALUE_TYPES, for_each_lane
from studio.engine.gl.shader.iteration import Iteration, iteration_over
from studio.engine.gl.shader.layout import Layout
from studio.engine.gl.shader.source import KernelSource, assemble

LOCAL = (64, 1, 1)
STRIP_LOCAL = (512, 1, 1)
STRIPS = 528
"""Work groups that share a large space: as many as a large GPU has at once."""
LARGE = 1 << 26
"""Elements from which on every work group takes a strip of its own.

Where all of a GPU's groups move through memory side by side, each processor meets every page, and
finding pages limits what large storages allow: 2.1 TB/s on an H200 above 512 MiB, 3.8 by strips.
"""
_VECTORS = {
    DType.float32: ("vec4", "vec4"),
    DType.int32: ("ivec4", "ivec4"),
    DType.bool: ("uvec4", "ivec4"),
    DType.uint8: ("uint", "ivec4"),
    DType.int8: ("uint", "ivec4"),
    DType.float16: ("uvec2", "vec4"),
}
"""Storage element and value of four neighbours, by element type."""


@dataclass(frozen=True)
class ElementKernel:
    """A generated kernel.

    Attributes:
        source: its text.
        storages: what is bound to it, in order.
        lanes: elements an invocation has at once.
        strips: whether every work group goes over a strip of ``LAUNCH_0`` quadruples.
    """

    source: KernelSource
    storages: tuple[tuple[Ref, Use], ...]
    lanes: int
    strips: bool = False

    def grid(self, count: int) -> tuple[int, tuple[int, int]]:
        """Work groups for so many elements, and the numbers of their launch."""
        if not self.strips:
            return groups_for(count, LOCAL[0] * self.lanes), (0, 0)
        quads, local = groups_for(count, self.lanes), STRIP_LOCAL[0]
        strip = groups_for(groups_for(quads, STRIPS), local) * local
        return groups_for(quads, strip), (strip, 0)


class ElementText:
    """Collects the statements of one invocation; storages are named ``t0``, ``t1``, … by first use.

    Args:
        assignments: in order; later ones see what earlier ones wrote.
        layout_of: how a storage lies.
        has_storage: False for registers, which live in variables only.
        prefix: begin of the names.
    """

    def __init__(
        self,
        assignments: Sequence[Assignment],
        layout_of: Callable[[Ref], Layout],
        has_storage: Callable[[Ref], bool],
        prefix: str = "t",
    ) -> None:
        self.assignments = assignments
        reads, writes = storages_of(assignments)
        self.reads = [r for r in reads if has_storage(r)]
        self.writes = [r for r in writes if has_storage(r)]
        self.order = list(dict.fromkeys([*self.reads, *self.writes]))
        self.layouts = {ref: layout_of(ref) for ref in (*reads, *writes)}
        self.names = {ref: f"{prefix}{k}" for k, ref in enumerate(self.order)}

    def use(self, ref: Ref) -> Use:
        """How the kernel uses a storage."""
        if ref not in self.writes:
            return Use.READ
        return Use.BOTH if ref in self.reads else Use.WRITE

    def accesses(self) -> list[Access]:
        """All storages as operands, in binding order."""
        return [Access(self.names[r], self.layouts[r], self.use(r)) for r in self.order]

    def statements(self, inputs: Mapping[Ref, str]) -> tuple[list[str], dict[Ref, str]]:
        """The assignments as declarations of variables.

        Args:
            inputs: expression of the value of each storage read from outside.

        Returns:
            The statements, and the variable that holds each written storage's new value.
        """
        values = dict(inputs)
        lines: list[str] = []
        for number, step in enumerate(self.assignments):

            def variable(ref: Ref) -> Value:
                return Value(values[ref], self.layouts[ref].value_type)

            layout = self.layouts[step.target]
            before, found = step.text(variable, f"v{number}_")
            value = convert(found, layout.dtype)
            text = f"{values[step.target]} + {value.term}" if step.adds else value.text
            lines += [*before, f"{layout.value_type} v{number} = {text};"]
            values[step.target] = f"v{number}"
        written = {step.target: values[step.target] for step in self.assignments}
        return lines, written


def convert(value: Value, dtype: DType) -> Value:
    """A value turned into that which an element of ``dtype`` has in a kernel."""
    if dtype is DType.bool:
        value = value.to("bool")
    return value.to(VALUE_TYPES[dtype])


def element_kernel(
    name: str,
    assignments: Sequence[Assignment],
    shape: Shape,
    layout_of: Callable[[Ref], Layout],
    has_storage: Callable[[Ref], bool] = lambda _: True,
    *,
    large: bool = False,
) -> ElementKernel:
    """The kernel of assignments whose targets all have ``shape`` (symbols kept).

    Args:
        name: what it is called.
        assignments: in order.
        shape: of the targets.
        layout_of: how a storage lies.
        has_storage: False for registers.
        large: work groups take strips, where four neighbours are one access.
    """
    text = ElementText(assignments, layout_of, has_storage)
    space = iteration_over(shape, [text.layouts[r] for r in text.order])
    packed = any(text.layouts[r].per_word > 1 for r in text.writes)
    strips = large and space.vectors
    if space.vectors:
        body, lanes = _vector_body(text, space, strips), 4
    else:
        lanes = 4 if packed else 1
        body = _scalar_body(text, space, lanes)
    source = assemble(name, body, [], local=STRIP_LOCAL if strips else LOCAL, from_file=False)
    return ElementKernel(source, tuple((r, text.use(r)) for r in text.order), lanes, strips)


def _vector_body(text: ElementText, space: Iteration, strips: bool) -> str:
    heads: list[str] = []
    loads: list[str] = []
    stores: list[str] = []
    inputs: dict[Ref, str] = {}
    last = space.axes[-1].strides
    for binding, access in enumerate(text.accesses()):
        ref, name = text.order[binding], access.name
        cell = space.cell(binding)
        if last[binding] == 0 and ref not in text.writes:
            heads += [f"// {name}: {access.layout}", block(access, binding)]
            heads += read_functions(access).needed_by(f"{name}_load()")
            loads.append(f"{access.layout.value_type} {name} = {name}_load({cell});")
            inputs[ref] = name
            continue
        stored, value = _VECTORS[access.layout.dtype]
        heads.append(f"// {name}: {access.layout}")
        heads.append(
            f"layout(std430, binding = {binding}) {access.use.value}buffer {name}_block "
            f"{{ {stored} {name}_data[]; }};"
        )
        where = f"{name}_data[({cell}) >> 2]"
        if ref in text.reads:
            loads.append(f"{value} {name} = {_unpack(access.layout.dtype, where)};")
            inputs[ref] = f"{name}[k]"
        if ref in text.writes:
            loads.append(f"{value} {name}_new;")
            stores.append(f"{where} = {_pack(access.layout.dtype, f'{name}_new')};")
    lines, written = text.statements(inputs)
    lines += [f"{text.names[r]}_new[k] = {written[r]};" for r in text.writes]
    quad = [*space.split("first"), *loads, *for_each_lane(lines), *stores]
    return "\n".join([*heads, *_main(space, quad, strips)])


def _main(space: Iteration, quad: Sequence[str], strips: bool) -> list[str]:
    """A ``main`` that makes one quadruple, or goes over a strip of them."""
    if not strips:
        return [
            "void main() {",
            "    int first = THREAD * 4;",
            f"    if (first >= {space.numel_text}) return;",
            *(f"    {line}" for line in quad),
            "}",
        ]
    return [
        "void main() {",
        "    int local = int(gl_LocalInvocationIndex);",
        "    for (int at = local; at < LAUNCH_0; at += GROUP_SIZE) {",
        "        int first = (GROUP * LAUNCH_0 + at) * 4;",
        f"        if (first >= {space.numel_text}) return;",
        *(f"        {line}" for line in quad),
        "    }",
        "}",
    ]


def _unpack(dtype: DType, where: str) -> str:
    match dtype:
        case DType.bool:
            return f"ivec4(notEqual({where}, uvec4(0u)))"
        case DType.uint8:
            return f"ivec4(uvec4({where}) >> uvec4(0u, 8u, 16u, 24u)) & 255"
        case DType.int8:
            return f"ivec4(uvec4({where}) << uvec4(24u, 16u, 8u, 0u)) >> 24"
        case DType.float16:
            return f"vec4(unpackHalf2x16({where}.x), unpackHalf2x16({where}.y))"
        case DType.float32 | DType.int32:
            return where


def _pack(dtype: DType, name: str) -> str:
    match dtype:
        case DType.bool:
            return f"uvec4(notEqual({name}, ivec4(0)))"
        case DType.uint8 | DType.int8:
            return " | ".join(f"(uint({name}[{k}]) & 255u) << {8 * k}" for k in range(4))
        case DType.float16:
            return f"uvec2(packHalf2x16({name}.xy), packHalf2x16({name}.zw))"
        case DType.float32 | DType.int32:
            return name


def _scalar_body(text: ElementText, space: Iteration, lanes: int) -> str:
    heads: list[str] = []
    loads: list[str] = []
    inputs: dict[Ref, str] = {}
    stores: list[str] = []
    before: list[str] = []
    after: list[str] = []
    accesses = text.accesses()
    for binding, access in enumerate(accesses):
        ref, name, kind = text.order[binding], access.name, access.layout.value_type
        cell = space.cell(binding)
        if ref in text.reads:
            loads.append(f"{kind} {name} = {name}_load({cell});")
            inputs[ref] = name
        if ref in text.writes and access.layout.per_word == 1:
            stores.append(f"{name}_put({cell}, {{value}});")
        elif ref in text.writes:
            before.append(f"{kind} {name}_new[4] = {kind}[4]({', '.join([f'{kind}(0)'] * 4)});")
            stores.append(f"{name}_new[k] = {{value}};")
            after.append(f"{name}_put_word(THREAD, {name}_new);")
    lines, written = text.statements(inputs)
    order = [r for r in text.order if r in text.writes]
    lines += [store.format(value=written[r]) for store, r in zip(stores, order, strict=True)]
    inner = [*space.split("i"), *loads, *lines]
    body = "\n".join(
        [
            "void main() {",
            f"    int first = THREAD * {lanes};",
            f"    if (first >= {space.numel_text}) return;",
            *(f"    {line}" for line in before),
            f"    for (int k = 0; k < {lanes}; ++k) {{",
            "        int i = first + k;",
            f"        if (i >= {space.numel_text}) break;",
            *(f"        {line}" for line in inner),
            "    }",
            *(f"    {line}" for line in after),
            "}",
        ]
    )
    for binding, access in enumerate(accesses):
        heads += [*macros(access)[:1], block(access, binding)]
        both = access.use is not Use.READ
        functions = write_functions(access) if both else read_functions(access)
        heads += functions.needed_by(body)
    return "\n".join([*heads, body])
