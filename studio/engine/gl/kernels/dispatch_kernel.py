"""Turns a `DispatchSpec` (a kernel file and its operands) into a planned dispatch."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from math import prod

from studio.engine.core.errors import BackendError
from studio.engine.core.tensor import Ref
from studio.engine.gl.glsl.files import load
from studio.engine.gl.kernels.epilogue import Epilogue, epilogue_text
from studio.engine.gl.kernels.partial_sums import Sums, leaving_text
from studio.engine.gl.kernels.specs import BoundInstruction, DispatchSpec
from studio.engine.gl.shader.accessors import ACCESSOR_NAMES, Access, Use
from studio.engine.gl.shader.attributes import attribute_constants
from studio.engine.gl.shader.dispatch import groups_for, split_line
from studio.engine.gl.shader.planned import (
    Binding,
    PlannedDispatch,
    ScratchBinding,
    StorageBinding,
    TicketsBinding,
)
from studio.engine.gl.shader.source import assemble, included, kernel_text, lanes_of, uses_name
from studio.engine.isa.instruction import GradInstruction

_TERM = re.compile(r"^float term\(int \w+\)", re.MULTILINE)
_SCRATCH = re.compile(r"\bscratch\[")
_SCRATCH_ATOMIC = re.compile(r"\batomic\w+\(scratch\[")
_SCRATCH_STORE = re.compile(r"\bscratch\[[^\]]*\]\s*=(?!=)")


def plan_dispatch(
    op: BoundInstruction, one: DispatchSpec, variant: str, tail: Epilogue | None = None
) -> PlannedDispatch:
    """One dispatch, with the element-wise tail of its group applied where it stores.

    Raises:
        BackendError: the kernel would need more storage buffers than OpenGL 4.3 promises.
    """
    body = kernel_text(one.kernel)
    accesses, refs = operands_of(op, one, body)
    functions = ""
    sums: tuple[Sums, ...] = ()
    if tail is not None and _place_of(tail.produced, accesses, refs) is not None:
        tail = replace(tail, held_stores=one.held_stores)
        accesses, refs, functions = _with_tail(op, accesses, refs, tail)
        sums = tail.sums
    stored = [(a, r) for a, r in zip(accesses, refs, strict=True) if a.stored]
    bindings: list[Binding] = [
        StorageBinding(ref, Use.BOTH if access.adds else access.use) for access, ref in stored
    ]
    if one.sums is not None:
        bindings.append(one.sums)
    elif one.scratch:
        fills_scratch = one.fills_scratch or one.tickets > 0
        use = Use.WRITE if fills_scratch else scratch_use(all_text(body))
        bindings.append(ScratchBinding(one.scratch, use, alone=one.tickets > 0))
    if one.tickets:
        bindings.append(TicketsBinding(one.tickets))
    defines = {**presence(op), "PARTIAL": int(one.partial), **one.defines}
    if sums and one.sum_grid is not None:
        grid, columns = one.sum_grid, sums[0].columns
        functions = leaving_text(sums, grid, len(bindings), functions)
        bindings += [StorageBinding(wanted.result, Use.WRITE) for wanted in sums]
        defines |= {"PARTIAL_SUMS": len(sums), "SUMS_SPAN": grid.span, "SUMS_COLS": columns}
    caps = op.caps
    saves_dispatch = one.tickets > 0 or one.saves_dispatch or bool(sums)
    offered = caps.offered_blocks if saves_dispatch else caps.storage_blocks
    if len(bindings) > offered:
        raise BackendError(
            f"the kernel {one.kernel} needs {len(bindings)} storage buffers, the device offers "
            f"{offered}",
            who=op.ins.mnemonic,
            origin=", ".join(op.ins.owners),
        )
    source = assemble(
        one.kernel,
        body,
        accesses,
        local=one.local,
        constants=attribute_constants(op.ins),
        defines=defines,
        epilogue=functions,
        result=one.result,
        scratch=bool(one.scratch),
        tickets=bool(one.tickets),
        scratch_vec4=one.scratch_vec4,
        scratch_ints=one.scratch_ints,
    )
    groups = one.groups
    if one.result:
        access = next(a for a in accesses if a.name == one.result)
        ref = refs[accesses.index(access)]
        count = groups_for(prod(op.shape_of(ref)), lanes_of(access))
        groups = (groups_for(count, prod(one.local)), 1, 1)
    if groups[1:] == (1, 1):
        groups = split_line(groups[0])
    return PlannedDispatch(source, tuple(bindings), groups, one.launch, variant, one.slack)


def _place_of(ref: Ref, accesses: Sequence[Access], refs: Sequence[Ref]) -> int | None:
    """Which operand a kernel stores a result by; None where it does not."""
    for k, (access, found) in enumerate(zip(accesses, refs, strict=True)):
        if found == ref and access.use is not Use.READ:
            return k
    return None


@lru_cache(maxsize=1 << 8)
def scratch_use(text: str) -> Use:
    """What a kernel does with scratch storage, by its text."""
    code = re.sub(r"//.*", "", text)
    if _TERM.search(code):
        return Use.WRITE
    if _SCRATCH_ATOMIC.search(code):
        return Use.BOTH
    uses = len(_SCRATCH.findall(code))
    stores = len(_SCRATCH_STORE.findall(code))
    return Use.READ if not stores else Use.WRITE if stores == uses else Use.BOTH


@lru_cache(maxsize=1 << 8)
def all_text(body: str) -> str:
    """A kernel's text with the library files it asks for."""
    return body + "".join(load("lib", name) for name in included(body)[1:])


def presence(op: BoundInstruction) -> dict[str, int]:
    """Macros that say which optional operands are there and which gradients are wanted."""
    found: dict[str, int] = {}
    for spec in op.ins.operand_fields:
        if spec.optional:
            found[f"HAS_{spec.name.upper()}"] = int(op.ins.ref(spec.name).present)
        if isinstance(op.ins, GradInstruction) and spec.differentiable and not spec.variadic:
            found[f"WANT_D{spec.name.upper()}"] = int(op.wants(spec.name))
    return found


def operands_of(
    op: BoundInstruction, one: DispatchSpec, body: str
) -> tuple[list[Access], list[Ref]]:
    """The operands a kernel's text uses, in a fixed order, and their storages."""
    candidates: dict[str, Ref] = {}
    for spec in op.ins.operand_fields:
        if not spec.variadic and op.ins.ref(spec.name).present:
            candidates[spec.name] = op.ins.ref(spec.name)
            candidates[f"d{spec.name}"] = op.ins.ref(spec.name).gradient
    candidates.update(one.bind)
    accesses: list[Access] = []
    refs: list[Ref] = []
    for name, ref in candidates.items():
        accessor = ACCESSOR_NAMES.get(name, name)
        reads, writes = uses_name(body, accessor)
        if name == one.result:
            writes = True
        if one.partial and name == "y":
            writes = False
        if not (reads or writes) or (writes and _unwanted(op, name, one)):
            continue
        use = Use.BOTH if reads and writes else Use.WRITE if writes else Use.READ
        adds = writes and (name in one.adds if name in one.bind else op.adds(name))
        layout = op.layout_of(ref)
        accesses.append(Access(accessor, layout, use, adds, name in one.vector))
        refs.append(ref)
    return accesses, refs


def _unwanted(op: BoundInstruction, name: str, one: DispatchSpec) -> bool:
    """Whether a name is a gradient that this line does not compute."""
    if name in one.bind or not isinstance(op.ins, GradInstruction) or not name.startswith("d"):
        return False
    return op.has(name) and op.ref(name).grad and not op.wants(name[1:])


def _with_tail(
    op: BoundInstruction, accesses: list[Access], refs: list[Ref], tail: Epilogue
) -> tuple[list[Access], list[Ref], str]:
    """The operands followed by the tail's, and the tail's functions."""
    at = _place_of(tail.produced, accesses, refs)
    if at is None:
        raise BackendError(
            "the tail of a group needs a kernel that stores its result", who=op.ins.mnemonic
        )
    old = accesses[at]
    use = Use.BOTH if old.adds else old.use
    kept = tail.has_storage(refs[at])
    result = Access(old.name, old.layout, use, vector=old.vector, stored=kept)
    text = epilogue_text(result, tail, adds=old.adds)
    merged = [*accesses[:at], result, *accesses[at + 1 :], *text.accesses]
    return merged, [*refs, *text.storages], text.functions
