"""Joins the pieces of a kernel into the text the driver compiles."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from math import prod
from typing import NamedTuple

from studio.engine.gl.glsl.files import load
from studio.engine.gl.shader.accessors import Access, calls_in, declare
from studio.engine.gl.shader.dispatch import Groups

_INCLUDE = re.compile(r'^#include "(\w+\.glsl)"[ \t]*$', re.MULTILINE)
_BARRIER = re.compile(r"\bbarrier\(\);")
_TERM = re.compile(r"^float term\(int \w+\)", re.MULTILINE)
_LAUNCH = """\
layout(std140, binding = 0) uniform Launch { ivec4 launch; };
#define BATCH launch.x
#define ROWS launch.y
#define LAUNCH_0 launch.z
#define LAUNCH_1 launch.w
#define GROUP int(gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x)
#define THREAD (GROUP * GROUP_SIZE + int(gl_LocalInvocationIndex))
#define RUNTIME_ZERO float(BATCH >> 31)"""
_DEFINED = re.compile(r"^\w+ (\w+)\(", re.MULTILINE)
FUNCTION_FILES = ("quotients.glsl", "trigonometry.glsl", "hyperbolic.glsl", "bits.glsl")
"""Library files of functions that formulas may call; a kernel has those that it calls from.

They stand behind ``numerics.glsl``, of which alone they use functions."""
BLOCK_LINES = 1000
"""Line numbers each file has for itself, so that a driver's message names the file by its line."""


@dataclass(frozen=True)
class KernelSource:
    """The text of one kernel.

    Attributes:
        name: stem of the kernel file, or what a generated kernel is called.
        text: all of it, as the driver gets it.
        local: invocations per axis of a work group.
        files: file names by block of a thousand line numbers; block 0 is generated text.
    """

    name: str
    text: str
    local: Groups
    files: tuple[str, ...]


@cache
def kernel_text(stem: str) -> str:
    """The text of a kernel file."""
    return load("kernels", f"{stem}.glsl")


@lru_cache(maxsize=1 << 8)
def included(text: str) -> tuple[str, ...]:
    """Library files a text asks for, numerics first."""
    names = ["numerics.glsl"]
    for name in _INCLUDE.findall(text):
        for wanted in (*included(load("lib", name))[1:], name):
            if wanted not in names:
                names.append(wanted)
    return tuple(names)


def scratch_block(
    binding: int, tickets: bool = False, scratch_vec4: bool = False, scratch_ints: bool = False
) -> str:
    """The declaration of the scratch storage, and of counters of arriving work groups."""
    if tickets:
        return (
            f"layout(std430, binding = {binding}) coherent buffer scratch_block "
            "{ vec4 scratch[]; };\n"
            f"layout(std430, binding = {binding + 1}) coherent buffer arrivals_block "
            "{ uint arrivals[]; };"
        )
    kind = "int" if scratch_ints else "vec4" if scratch_vec4 else "float"
    return f"layout(std430, binding = {binding}) buffer scratch_block {{ {kind} scratch[]; }};"


def assemble(
    name: str,
    body: str,
    accesses: Sequence[Access],
    *,
    local: Groups,
    constants: str = "",
    defines: Mapping[str, int | str] | None = None,
    epilogue: str = "",
    result: str = "",
    scratch: bool = False,
    tickets: bool = False,
    scratch_vec4: bool = False,
    scratch_ints: bool = False,
    from_file: bool = True,
) -> KernelSource:
    """The final text of a kernel.

    Args:
        name: what the kernel is called; the stem of its file where it has one.
        body: the kernel's own text.
        accesses: its operands; those with storage are bound at 0, 1, … in this order.
        local: invocations per axis of a work group.
        constants: constants of the attributes.
        defines: further macros.
        epilogue: a ``store_…`` function that replaces the generated one.
        result: accessor a value kernel computes; empty for a body with its own ``main``.
        scratch: declare the scratch storage behind the operands.
        tickets: declare counters behind it; it is then read by other work groups and in fours.
        scratch_vec4: scratch storage is read in fours.
        scratch_ints: it holds whole numbers.
        from_file: whether ``body`` is the text of a kernel file (its lines are then its own).
    """
    return _assembled(
        _Pieces(
            name,
            body,
            tuple(accesses),
            local,
            constants,
            tuple((defines or {}).items()),
            epilogue,
            result,
            scratch,
            tickets,
            scratch_vec4,
            scratch_ints,
            from_file,
        )
    )


class _Pieces(NamedTuple):
    """All that the text of a kernel depends on; see ``assemble``."""

    name: str
    body: str
    accesses: tuple[Access, ...]
    local: Groups
    constants: str
    defines: tuple[tuple[str, int | str], ...]
    epilogue: str
    result: str
    scratch: bool
    tickets: bool
    scratch_vec4: bool
    scratch_ints: bool
    from_file: bool


@lru_cache(maxsize=1 << 7)
def _assembled(of: _Pieces) -> KernelSource:
    """Layers that are alike share one text."""
    main = value_main(of.result, of.accesses) if of.result else ""
    if _TERM.search(of.body):
        main = terms_main()
    libs = {lib: _written_out(load("lib", lib)) for lib in included(of.body)}
    pieces = [of.epilogue, *list(libs.values())[1:], of.body, main]
    heads, functions = declare(of.accesses, pieces)
    size = prod(of.local)
    top = [
        "#version 430",
        "layout({}) in;".format(
            ", ".join(f"local_size_{a} = {n}" for a, n in zip("xyz", of.local, strict=True))
        ),
        f"#define GROUP_SIZE {size}",
        _LAUNCH,
        *(f"#define {key} {value}" for key, value in of.defines),
    ]
    files = ["generated"]
    parts = ["\n".join(top)]
    numerics, *others = libs
    parts.append(_from_file(files, numerics, libs[numerics]))
    parts += [_from_file(files, lib, load("lib", lib)) for lib in _function_files(*pieces)]
    stored = sum(access.stored for access in of.accesses)
    middle = [
        of.constants,
        heads,
        scratch_block(stored, of.tickets, of.scratch_vec4, of.scratch_ints) if of.scratch else "",
        functions,
        of.epilogue,
    ]
    parts.append(_generated(len(parts), "\n".join(part for part in middle if part)))
    # Behind the accessors, so that a library file may use them and their macros.
    parts += [_from_file(files, lib, libs[lib]) for lib in others]
    text = _written_out(of.body)
    parts.append(_from_file(files, f"{of.name}.glsl", text) if of.from_file else text)
    if main:
        parts.append(_generated(len(parts) + 1, main))
    return KernelSource(of.name, "\n".join(parts) + "\n", of.local, tuple(files))


def _function_files(*pieces: str) -> list[str]:
    """The files of `FUNCTION_FILES` that pieces of a kernel call functions of."""
    called = frozenset[str]().union(*map(calls_in, pieces))
    return [name for name in FUNCTION_FILES if called & functions_of(name)]


@cache
def functions_of(name: str) -> frozenset[str]:
    """The functions that a library file defines."""
    return frozenset(_DEFINED.findall(load("lib", name)))


@lru_cache(maxsize=1 << 8)
def _written_out(text: str) -> str:
    """A file's text without its includes, and with shared memory made visible at every barrier.

    ``barrier()`` alone orders the invocations, not what they wrote: llvmpipe (Mesa 22.3) then
    forwards stale values of shared memory.
    """
    return _BARRIER.sub("memoryBarrierShared(); barrier();", _INCLUDE.sub("", text))


def _from_file(files: list[str], name: str, text: str) -> str:
    files.append(name)
    return f"#line {(len(files) - 1) * BLOCK_LINES + 1}\n{text.rstrip()}"


def _generated(part: int, text: str) -> str:
    return f"#line {100 * part}\n{text}"


def value_main(result: str, accesses: Sequence[Access]) -> str:
    """The ``main`` of a value kernel: one element an invocation, four where they share words."""
    access = next(a for a in accesses if a.name == result)
    up = result.upper()
    if access.layout.per_word == 1:
        return (
            f"void main() {{\n    int i = THREAD;\n    if (i >= {up}_NUMEL) return;\n"
            f"    store_{result}_at(i, kernel(i));\n}}"
        )
    kind = access.layout.value_type
    return (
        f"void main() {{\n    int first = THREAD * 4;\n    if (first >= {up}_NUMEL) return;\n"
        f"    {kind} v[4];\n    for (int k = 0; k < 4; ++k) "
        f"v[k] = first + k < {up}_NUMEL ? kernel(first + k) : {kind}(0);\n"
        f"    {result}_put_word(THREAD, v);\n}}"
    )


def terms_main() -> str:
    """The ``main`` of a kernel of terms: partial sums of ``LAUNCH_0`` terms into scratch storage.

    Invocation t sums terms t, t + TERM_THREADS, … and writes ``scratch[LAUNCH_1 + t]``.
    """
    return (
        "void main() {\n    int t = THREAD;\n    if (t >= TERM_THREADS) return;\n"
        "    float sum = 0.0;\n"
        "    for (int r = t; r < LAUNCH_0; r += TERM_THREADS) sum += term(r);\n"
        "    scratch[LAUNCH_1 + t] = sum;\n}"
    )


def lanes_of(access: Access) -> int:
    """Elements one invocation of a value kernel writes."""
    return 1 if access.layout.per_word == 1 else 4


@lru_cache(maxsize=1 << 8)
def all_calls(body: str) -> frozenset[str]:
    """Names that a kernel's text and the library files it asks for call."""
    libs = (calls_in(_written_out(load("lib", name))) for name in included(body)[1:])
    return calls_in(_written_out(body)).union(*libs)


@lru_cache(maxsize=1 << 8)
def _accessors(name: str) -> tuple[frozenset[str], frozenset[str]]:
    """The functions that read and those that write the operand of an accessor name."""
    reads = {name, f"{name}4", f"{name}_at", f"{name}_v", f"{name}_load", f"{name}_load4"}
    writes = {
        *(f"store_{name}{tail}" for tail in ("", "4", "_at", "_v", "4_at")),
        f"{name}_put",
        f"{name}_put4",
        f"{name}_put_word",
    }
    both = f"count_{name}"
    reads.add(both)
    writes.add(both)
    return frozenset(reads), frozenset(writes)


def uses_name(body: str, name: str) -> tuple[bool, bool]:
    """Whether a kernel, its library files included, reads and writes an accessor name's operand."""
    called = all_calls(body)
    reads, writes = _accessors(name)
    return not reads.isdisjoint(called), not writes.isdisjoint(called)
