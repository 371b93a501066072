"""Rules about single instructions: operands, attributes, types, section."""

from __future__ import annotations

from collections.abc import Iterator

from studio.engine.compiler.rules.breach import Breach
from studio.engine.core.dtypes import DType
from studio.engine.core.errors import StudioError, quoted
from studio.engine.core.tensor import ABSENT, TensorType
from studio.engine.isa.fields import Access
from studio.engine.isa.instruction import GradInstruction, Instruction
from studio.engine.isa.ops.data import STEP_WORDS
from studio.engine.isa.ops.update import Update
from studio.engine.isa.program import SECTIONS, SETUP, Program

STEP_BLOCK = TensorType((STEP_WORDS,), DType.int32)


def check_references(program: Program) -> Iterator[Breach]:
    """Sections that do not exist, and operands that are not in the map."""
    for name in program.sections:
        if name not in SECTIONS:
            yield Breach(f"sections are {', '.join(SECTIONS)}", f"a section {quoted(name)}")
    for _, index, ins in program.located():
        for spec, ref in ins.named_operands():
            if ref.present and ref.id not in program.tensors:
                yield Breach(
                    "operands are tensors", f"{spec.name} = {ref} is not in the map", index
                )
            elif not ref.present and not spec.optional:
                yield Breach("only optional operands may be absent", f"{spec.name} is", index)


def check_lines(program: Program) -> Iterator[Breach]:
    """Attributes out of range, types other than inferred, instructions in the wrong section."""
    for section, index, ins in program.located():
        yield from _check_attributes(ins, index)
        yield from _check_types(program, ins, index)
        yield from _check_partial(program, ins, index)
        if section == SETUP:
            yield from _check_setup(program, ins, index)
        if isinstance(ins, GradInstruction) and section != "backward":
            yield Breach("gradient instructions stand in backward", f"one in {section}", index)
        if isinstance(ins, Update) and section != "update":
            yield Breach("parameters are updated in the update section", f"one in {section}", index)


def _check_setup(program: Program, ins: Instruction, index: int) -> Iterator[Breach]:
    """It runs once and by itself, so there is nothing but what is kept."""
    for ref in ins.operands:
        root = program.tensors[program.tensors.root(ref.id)] if ref.present else None
        if root is not None and (ref.grad or not root.role.persistent):
            rule = "lines of the setup section read what is kept and make constants"
            yield Breach(rule, f"{ref} ({root.name}) breaks it", index)


def _check_attributes(ins: Instruction, index: int) -> Iterator[Breach]:
    for attr in ins.attr_fields:
        try:
            checked = attr.check(ins.value(attr.name), ins.mnemonic)
        except StudioError as error:
            yield Breach("attributes are in range", f"{attr.name}: {error.message}", index)
            continue
        held = ins.value(attr.name)
        # A NaN is a legal float and differs from itself.
        if checked != held and not (checked != checked and held != held):
            yield Breach("attributes are in their stored form", f"{attr.name} = {held!r}", index)


def _check_partial(program: Program, ins: Instruction, index: int) -> Iterator[Breach]:
    for spec, ref in ins.named_operands():
        if ref.present and program.tensors[ref.id].partial and not spec.partial:
            rule = "partial tensors are operands only where parts can be made or joined"
            yield Breach(rule, f"{spec.name} = {ref} is one", index)


def _check_types(program: Program, ins: Instruction, index: int) -> Iterator[Breach]:
    forward = ins.forward.of_grad(ins) if isinstance(ins, GradInstruction) else ins
    try:
        inferred = forward.types(program.type_of)
    except StudioError as error:
        yield Breach("operands fit the instruction", error.message, index)
        return
    written = [r for s, r in forward.named_operands() if s.access is Access.WRITE]
    for ref, expected in zip(written, inferred, strict=False):
        found = program.type_of(ref) if ref.present else expected
        if found != expected:
            yield Breach(f"results have the inferred type {expected}", f"{ref} is {found}", index)
    step = next((ref for spec, ref in ins.named_operands() if spec.name == "step"), ABSENT)
    if step.present and program.type_of(step) != STEP_BLOCK:
        yield Breach(f"a step block is {STEP_BLOCK}", f"{step} is {program.type_of(step)}", index)
    if isinstance(ins, Update):
        yield from _check_update(program, ins, index)


def _check_update(program: Program, ins: Update, index: int) -> Iterator[Breach]:
    expected: TensorType = program.type_of(ins.w)
    for spec, ref in ins.named_operands():
        if spec.name in ("step", "rates") or not ref.present:
            continue
        if program.type_of(ref) != expected:
            yield Breach(
                f"operands of an update have the parameter's type {expected}",
                f"{spec.name} is {program.type_of(ref)}",
                index,
            )
