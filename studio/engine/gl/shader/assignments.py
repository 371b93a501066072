"""Element-wise instructions as assignments: a storage, a formula and what it reads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache

from studio.engine.core.tensor import Ref
from studio.engine.formula.constants import with_values
from studio.engine.formula.parse import parse_formula
from studio.engine.formula.tree import Arithmetic, Call, Formula, Name, substituted
from studio.engine.gl.shader.formula_text import Value, formula_text
from studio.engine.isa.fields import Access
from studio.engine.isa.instruction import GradInstruction, Instruction
from studio.engine.isa.meaning import GRADIENT
from studio.engine.isa.ops.norm import is_affine


@dataclass(frozen=True)
class Assignment:
    """``target = formula`` or ``target += formula``, element by element.

    Attributes:
        target: the storage written.
        formula: over operand names, with attributes put in.
        operands: storage by the name the formula has for it.
        adds: whether the value is added to what is there.
    """

    target: Ref
    formula: Formula
    operands: Mapping[str, Ref]
    adds: bool = False

    def text(self, variable: Callable[[Ref], Value], prefix: str) -> tuple[list[str], Value]:
        """Statements that declare what the formula's lines name, and its result.

        Args:
            variable: what an operand is in the kernel.
            prefix: begin of the names declared.
        """
        names = {name: variable(ref) for name, ref in self.operands.items()}
        return formula_text(self.formula, names, prefix)


def has_formula(ins: Instruction) -> bool:
    """Whether a formula says what an instruction (or each gradient of a gradient's) computes."""
    if isinstance(ins, GradInstruction):
        meaning = ins.forward.meaning
        return meaning is not None and bool(meaning.slopes)
    return ins.meaning is not None and ins.meaning.value is not None


def assignments_of(ins: Instruction) -> tuple[Assignment, ...]:
    """The assignments of an element-wise instruction: one, or one per gradient computed.

    A normalisation by running statistics is one where it follows a producer.
    """
    names = {spec.name: ref for spec, ref in ins.named_operands() if ref.present}
    if is_affine(ins):
        return (_assignment(ins, names["y"], _affine("gamma" in names, "beta" in names), names),)
    if isinstance(ins, GradInstruction):
        meaning = ins.forward.meaning
        (result,) = (r for spec, r in ins.named_operands() if spec.access is Access.WRITE)
        names[GRADIENT] = result.gradient
        slopes = {} if meaning is None else meaning.slopes
        return tuple(
            _assignment(ins, target, slopes[name], names, adds=not ins.sets(name))
            for name, target in ins.targets()
        )
    meaning = ins.meaning
    if meaning is None or meaning.value is None:
        raise TypeError(f"{ins.mnemonic} states no formula")
    return (_assignment(ins, names[meaning.target], meaning.value, names),)


@cache
def _affine(scaled: bool, shifted: bool) -> Formula:
    """A normalisation by running statistics."""
    text = f"(x - mean) * ({'gamma * ' * scaled}inverse){' + beta' * shifted}"
    stated = parse_formula(text)
    # Variances and eps are not negative: the device's own function, one operation, will do.
    inverse = Call("inversesqrt", (Arithmetic("+", Name("var"), Name("eps")),))
    return Formula(text, (), substituted(stated.value, {"inverse": inverse}))


def _assignment(
    ins: Instruction, target: Ref, stated: Formula, names: Mapping[str, Ref], adds: bool = False
) -> Assignment:
    values = {
        name: value for name, value in ins.attrs.items() if isinstance(value, float | int | str)
    }
    formula = with_values(stated, values)
    used = {name: ref for name, ref in names.items() if name in formula.names}
    return Assignment(target, formula, used, adds)


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
