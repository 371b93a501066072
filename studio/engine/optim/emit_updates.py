"""Adds the update section to a program: count, clip, and one update for each trained parameter."""

from __future__ import annotations

from typing import Any

from studio.engine.core.dtypes import DType
from studio.engine.core.errors import CompileError
from studio.engine.core.tensor import Ref, Role, Tensor
from studio.engine.isa.instruction import Instruction
from studio.engine.isa.ops import update
from studio.engine.isa.ops.data import STEP_WORDS
from studio.engine.isa.program import Program
from studio.engine.optim.optimizers import Optimizer

RATE_SLOTS = 256
"""Length of the rate table: how many steps ahead the host may state learning rates."""

STEP_NAME = "train/step"
RATES_NAME = "train/rates"
OWNER = ("update",)


class _Writer:
    """Collects the tensors and instructions of the section."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.tensors: list[Tensor] = []
        self.instructions: list[Instruction] = []

    def tensor(self, name: str, shape: tuple[int, ...], role: Role, **fields: Any) -> Ref:
        """The tensor of that name, made where the program lacks it."""
        if self.program.tensors.has_name(name):
            return self.program.tensors.named(name).ref
        made = Tensor(self.program.next_id() + len(self.tensors), name, shape, role=role, **fields)
        self.tensors.append(made)
        return made.ref

    def append(self, cls: type[Instruction], **fields: Any) -> None:
        """Add an instruction owned by the update."""
        self.instructions.append(cls(owners=OWNER, **fields))

    def finish(self) -> Program:
        """The program with the section."""
        whole = self.program.with_tensors(self.program.tensors.update(self.tensors))
        return whole.with_sections(update=self.instructions)


def trained_parameters(program: Program) -> tuple[Tensor, ...]:
    """Trainable parameters whose gradient the program computes, in id order."""
    computed = program.gradients()
    return tuple(
        t
        for t in program.of_role(Role.PARAM)
        if t.trainable and t.id in computed and not t.register
    )


def emit_updates(program: Program, optimizer: Optimizer) -> Program:
    """A program with its ``update`` section, for a program that has a ``backward`` section.

    Slots are tensors ``<parameter>/<slot>``; ``init`` says how they begin.

    Raises:
        CompileError: no trainable parameter has a gradient, or the program has updates already.
    """
    parameters = trained_parameters(program)
    if program.section("update"):
        raise CompileError("the program has an update section already", who=program.name)
    if not parameters:
        raise CompileError(
            "no trainable parameter has a gradient: got nothing to optimise",
            who=program.name,
            hint="make a layer trainable, or connect it to the loss",
        )
    out = _Writer(program)
    step = out.tensor(STEP_NAME, (STEP_WORDS,), Role.STEP, dtype=DType.int32)
    rates = out.tensor(RATES_NAME, (RATE_SLOTS,), Role.STEP)
    out.append(update.Begin, step=step)
    _emit_clips(out, optimizer, parameters)
    rule = optimizer.rule()
    for parameter in parameters:
        slots = {
            name: out.tensor(
                f"{parameter.name}/{name}", parameter.shape, Role.SLOT, init=init,
                layer=parameter.layer, port=f"{parameter.port}/{name}",
            )
            for name, init in rule.slots.items()
        }  # fmt: skip
        shrinks = parameter.weight or optimizer.shrinks_all
        out.append(
            rule.instruction,
            w=parameter.ref,
            g=parameter.ref.gradient,
            step=step,
            rates=rates,
            decay=optimizer.weight_decay or 0.0,
            shrink=optimizer.shrink if shrinks else 0.0,
            **slots,
            **rule.attributes,
        )
    return out.finish()


def _emit_clips(out: _Writer, optimizer: Optimizer, parameters: tuple[Tensor, ...]) -> None:
    gradients = [p.ref.gradient for p in parameters]
    if optimizer.clipvalue is not None:
        for g in gradients:
            out.append(update.ClipValue, g=g, limit=optimizer.clipvalue)
    if optimizer.global_clipnorm is not None:
        norm = out.tensor("update/global_norm", (), Role.ACTIVATION)
        out.append(update.GlobalNorm, gs=gradients, y=norm)
        for g in gradients:
            out.append(update.ClipNorm, g=g, norm=norm, limit=optimizer.global_clipnorm)
    if optimizer.clipnorm is not None:
        for parameter, g in zip(parameters, gradients, strict=True):
            norm = out.tensor(f"update/{parameter.name}/norm", (), Role.ACTIVATION)
            out.append(update.GlobalNorm, gs=[g], y=norm)
            out.append(update.ClipNorm, g=g, norm=norm, limit=optimizer.clipnorm)
