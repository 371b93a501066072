"""Element-wise instructions as assignments: a storage, an expression and what it reads."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from studio.engine.core.options import OptionKind
from studio.engine.core.tensor import Ref
from studio.engine.gl.attributes import attribute_literal
from studio.engine.gl.elementwise import ROWS
from studio.engine.isa.fields import Access
from studio.engine.isa.instruction import Instruction, Twin
from studio.engine.isa.ops.norm import is_affine

_WORD = re.compile(r"\b[A-Za-z_]\w*\b(?!\s*\()")


@dataclass(frozen=True)
class Assignment:
    """``target = expression`` or ``target += expression``, element by element.

    Attributes:
        target: the storage written.
        expression: GLSL over operand names, with attributes put in already.
        operands: storage by the name the expression has for it.
        adds: whether the value is added to what is there.
        native: whether operands keep their own GLSL type instead of becoming float.
    """

    target: Ref
    expression: str
    operands: Mapping[str, Ref]
    adds: bool = False
    native: bool = False

    def text(self, variable: Callable[[Ref, bool], str]) -> str:
        """The expression with every operand replaced by ``variable(ref, native)``."""

        def put(match: re.Match[str]) -> str:
            ref = self.operands.get(match[0])
            return match[0] if ref is None else variable(ref, self.native)

        return _WORD.sub(put, self.expression)


def is_row(ins: Instruction) -> bool:
    """Whether a row runs this instruction (or, for a twin, its gradients)."""
    if isinstance(ins, Twin):
        row = ROWS.get(ins.forward.mnemonic)
        return row is not None and all(name in row.gradients for name, _ in ins.targets())
    return ins.mnemonic in ROWS


def assignments_of(ins: Instruction) -> tuple[Assignment, ...]:
    """The assignments of an element-wise instruction: one, or one per gradient computed.

    A normalisation by running statistics is one where it follows a producer.
    """
    if isinstance(ins, Twin):
        row = ROWS[ins.forward.mnemonic]
        return tuple(
            _assignment(ins, target, row.gradients[name], not ins.sets(name), row.native)
            for name, target in ins.targets()
        )
    if is_affine(ins):
        return (_affine(ins),)
    row = ROWS[ins.mnemonic]
    (target,) = (
        ref for spec, ref in ins.named_operands() if spec.access in (Access.WRITE, Access.UPDATE)
    )
    return (_assignment(ins, target, row.forward, False, row.native),)


def _affine(ins: Instruction) -> Assignment:
    """A normalisation by running statistics."""
    names = {spec.name: ref for spec, ref in ins.named_operands() if ref.present}
    eps = attribute_literal(OptionKind.NUMBER, ins.value("eps"))
    gamma = "gamma * " if "gamma" in names else ""
    beta = " + beta" if "beta" in names else ""
    text = f"(x - mean) * ({gamma}inversesqrt(var + {eps})){beta}"
    target = names.pop("y")
    return Assignment(target, text, names)


def _assignment(
    ins: Instruction, target: Ref, expression: str, adds: bool, native: bool
) -> Assignment:
    names = {spec.name: ref for spec, ref in ins.named_operands()}
    if isinstance(ins, Twin):
        (result,) = (r for spec, r in ins.named_operands() if spec.access is Access.WRITE)
        names["dy"] = result.gradient
    kinds = {a.name: a.kind for a in ins.attr_fields}
    scalar = (OptionKind.NUMBER, OptionKind.INTEGER, OptionKind.FLAG)

    def put(match: re.Match[str]) -> str:
        kind = kinds.get(match[0])
        if kind not in scalar or match[0] in names:
            return match[0]
        return attribute_literal(kind, ins.value(match[0]))

    text = _WORD.sub(put, expression)
    used = {word for word in _WORD.findall(text) if word in names}
    return Assignment(target, text, {n: r for n, r in names.items() if n in used}, adds, native)


def storages_of(assignments: Iterable[Assignment]) -> tuple[list[Ref], list[Ref]]:
    """Storages read from outside, and storages written, each in order of first use."""
    reads: list[Ref] = []
    writes: list[Ref] = []
    for step in assignments:
        needed = [*step.operands.values(), *([step.target] if step.adds else [])]
        reads += [r for r in needed if r not in writes and r not in reads]
        if step.target not in writes:
            writes.append(step.target)
    return reads, writes
