"""Adds the backward section to a program: one gradient instruction per forward instruction."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from studio.engine.autodiff.saved_statistics import WALKED, keep_statistics
from studio.engine.core.dtypes import DType
from studio.engine.core.errors import GradientError
from studio.engine.core.tensor import Ref, Role
from studio.engine.isa.fields import Access
from studio.engine.isa.instruction import GradInstruction, Instruction
from studio.engine.isa.line import format_line
from studio.engine.isa.ops.move import Copy, Fill, Zero
from studio.engine.isa.program import Program, Storage


@dataclass(frozen=True)
class UserRule:
    """A gradient that stands in for those of some lines.

    Attributes:
        body: which of the walked lines it stands for, counted from 0.
        result: the one result of these lines that others read.
        lines: what computes the gradients; they read the gradient of ``result``.
        delivered: operands of the body, what ``lines`` compute for each, and for each a tensor of
            its type whose gradient nothing else uses.
        owners: of the lines that deliver.
    """

    body: frozenset[int]
    result: Ref
    lines: tuple[Instruction, ...]
    delivered: tuple[tuple[Ref, Ref, Ref], ...]
    owners: tuple[str, ...]


def differentiate(
    program: Program,
    loss: Ref | None = None,
    *,
    wrt: Iterable[Ref] = (),
    prune: bool = True,
    rules: Sequence[UserRule] = (),
) -> Program:
    """The program with a ``backward`` section that leaves dloss/dp in the gradient of each p.

    The forward and loss sections are walked from last to first (reverse mode). Every instruction
    between a trainable parameter and the loss gets exactly one gradient instruction, which
    accumulates; a ZERO stands before the first accumulation into each storage and ``FILL loss.grad
    1`` before everything. Of an instruction with several results some may not lead to the loss:
    a ZERO gives those their gradient. Gradients belong to the layers of their forward instructions.

    The gradient of a trainable parameter that the loss does not depend on is set to zero, so that
    an update may always read it.

    Args:
        program: forward and loss sections, no backward section yet.
        loss: the scalar differentiated; by default the first result of the last line that has any
            in the loss section.
        wrt: tensors besides the trainable parameters whose gradients are wanted, such as inputs.
        prune: leave out gradients that no trainable parameter and no tensor in ``wrt`` needs.
            Without it every instruction that reaches the loss is differentiated in all its
            operands, as Dylann's listings have it.
        rules: gradients that stand in for those of some lines.

    Raises GradientError where there is no loss, where an instruction on the way from a parameter to
    the loss has no gradient, or where that way goes through a kept result; it names instruction and
    layer.
    """
    if program.section("backward"):
        raise GradientError("the program has a backward section already", who=program.name)
    return _ReverseWalk(program, _loss_of(program, loss), tuple(wrt), prune, rules).run()


class _ReverseWalk:
    """One walk from the loss back to the parameters."""

    def __init__(
        self,
        program: Program,
        loss: Ref,
        wrt: tuple[Ref, ...],
        prune: bool,
        rules: Sequence[UserRule],
    ) -> None:
        self.program = program
        self.loss = loss
        self.asked = bool(wrt)
        self.prune = prune
        walked = [(index, ins) for section, index, ins in program.located() if section in WALKED]
        self.lines = [ins for _, ins in walked]
        self._indices = [index for index, _ in walked]
        self._rules = {max(rule.body): rule for rule in rules if rule.body}
        self._stood_for = frozenset(index for rule in rules for index in rule.body)
        sources = _trainable_roots(program, (*wrt, *(rule.result for rule in rules)))
        self.dependent = _dependent_roots(program, self.lines, sources)
        self.reached: set[Storage] = set()
        self.backward: list[Instruction] = []
        self.grads: dict[int, GradInstruction] = {}

    def run(self) -> Program:
        """The finished program."""
        root = self.program.tensors.root(self.loss.id)
        if not self.prune or root in self.dependent:
            self._seed()
            for index in reversed(range(len(self.lines))):
                if index in self._rules:
                    self._follow(self._rules[index])
                if index not in self._stood_for:
                    self._step(index, self.lines[index])
        self._clear_unreached()
        finished = self.program.with_sections(backward=self.backward)
        return keep_statistics(finished, self.lines, self.grads)

    def _seed(self) -> None:
        writer = next((i for i in reversed(self.lines) if self.loss in _written(i)), None)
        if writer is None:
            raise GradientError(
                f"no instruction writes {self.loss}, the tensor to differentiate",
                who=self.program.name,
            )
        gradient = self.loss.gradient
        self.backward.append(Fill(y=gradient, number=1.0, owners=writer.owners))
        self.reached.add(self.program.storage(gradient))

    def _step(self, index: int, ins: Instruction) -> None:
        if not any(self._storage(ref) in self.reached for ref in _written(ins)):
            return
        if ins.grad_class is None:
            self._refuse_if_needed(index, ins)
            return
        skip = self._skipped(ins)
        grad_ins = grad_of(ins, skip)
        if not grad_ins.targets():
            return
        self._clear_results(index, ins)
        for _, ref in grad_ins.targets():
            storage = self.program.storage(ref)
            if storage not in self.reached:
                self.reached.add(storage)
                self.backward.append(Zero(y=Ref(storage.root, grad=True), owners=ins.owners))
        self.backward.append(grad_ins)
        self.grads[index] = grad_ins

    def _follow(self, rule: UserRule) -> None:
        """The lines of a user's gradient instead of those of its body."""
        if self._storage(rule.result) not in self.reached:
            return
        self.backward += rule.lines
        for operand, made, through in rule.delivered:
            if not self._wanted(operand):
                continue
            storage = self._storage(operand)
            if storage not in self.reached:
                self.reached.add(storage)
                self.backward.append(Zero(y=Ref(storage.root, grad=True), owners=rule.owners))
            self.backward.append(Copy(x=made, y=through.gradient, owners=rule.owners))
            self.backward.append(grad_of(Copy(x=operand, y=through, owners=rule.owners)))

    def _clear_results(self, index: int, ins: Instruction) -> None:
        """A zero gradient for every result that no loss depends on."""
        results = ins.results()
        for ref in _written(ins):
            storage = self._storage(ref)
            if ref not in results and storage in self.reached:
                what = f"{ref} is kept for the gradient instruction and has no gradient itself"
                self._refuse(index, ins, what, "compute it by other instructions")
            if ref not in results or storage in self.reached:
                continue
            if not _differentiable(self.program, ref):
                what = (
                    f"its result {ref} is {self.program.type_of(ref).dtype.name}, has no gradient"
                )
                self._refuse(index, ins, what, "declare that result as kept")
            self.reached.add(storage)
            self.backward.append(Zero(y=Ref(storage.root, grad=True), owners=ins.owners))

    def _clear_unreached(self) -> None:
        for tensor in self.program.of_role(Role.PARAM):
            storage = self.program.storage(tensor.ref.gradient)
            if tensor.trainable and storage not in self.reached:
                self.reached.add(storage)
                owners = (tensor.layer,) if tensor.layer else ()
                self.backward.append(Zero(y=Ref(storage.root, grad=True), owners=owners))

    def _skipped(self, ins: Instruction) -> tuple[str, ...]:
        """Names of differentiable operands none of whose tensors needs a gradient."""
        wanted: dict[str, bool] = {}
        for spec, ref in ins.named_operands():
            if spec.access is Access.READ and spec.differentiable and ref.present:
                wanted[spec.name] = wanted.get(spec.name, False) or self._wanted(ref)
        return tuple(name for name, needed in wanted.items() if not needed)

    def _wanted(self, ref: Ref) -> bool:
        if not _differentiable(self.program, ref):
            return False
        return not self.prune or self.program.tensors.root(ref.id) in self.dependent

    def _storage(self, ref: Ref) -> Storage:
        return self.program.storage(ref.gradient)

    def _refuse_if_needed(self, index: int, ins: Instruction) -> None:
        roots = {self.program.tensors.root(ref.id) for ref in _written(ins)}
        if roots & self.dependent:
            other = (
                "compute what it takes outside of the function"
                if self.asked
                else "freeze the layers before it"
            )
            self._refuse(
                index,
                ins,
                "the instruction has no gradient",
                f"take it out of the way to the loss, or {other}",
            )

    def _refuse(self, index: int, ins: Instruction, what: str, hint: str) -> NoReturn:
        layer = f"layer {ins.owners[0]!r}" if ins.owners else "no layer"
        learned = "the tensors asked for" if self.asked else "trainable parameters"
        raise GradientError(
            f"{what} but lies between {learned} and the loss: "
            f"line {self._indices[index]}, {format_line(ins)}",
            who=ins.mnemonic,
            origin=layer,
            hint=hint,
        )


def grad_of(ins: Instruction, skip: Iterable[str] = ()) -> GradInstruction:
    """The gradient instruction of ``ins``, computing no gradient for operands named in ``skip``."""
    if ins.grad_class is None:
        raise GradientError("the instruction has no gradient", who=ins.mnemonic)
    fields: dict[str, Any] = {
        spec.name: ins.refs(spec.name) if spec.variadic else ins.ref(spec.name)
        for spec in ins.operand_fields
    }
    fields.update(ins.attrs)
    return ins.grad_class(owners=ins.owners, skip=tuple(skip), **fields)


def _loss_of(program: Program, loss: Ref | None) -> Ref:
    """The tensor to differentiate, checked to be one number."""
    if loss is None:
        values = [results[0] for ins in program.section("loss") if (results := ins.results())]
        if not values:
            raise GradientError(
                "there is no loss to differentiate",
                who=program.name,
                hint="compile the model with a loss",
            )
        loss = values[-1]
    if program.type_of(loss).shape != () or not _differentiable(program, loss):
        raise GradientError(
            f"only a float scalar can be differentiated: got {program.type_of(loss)}",
            who=program.tensor(loss).name,
        )
    return loss


_DIFFERENTIABLE_TYPES = frozenset({DType.float32, DType.float16})


def _trainable_roots(program: Program, wrt: Iterable[Ref] = ()) -> set[int]:
    """Roots of the trainable parameters and of the tensors asked for besides."""
    roots = {program.tensors.root(ref.id) for ref in wrt}
    return roots | {program.tensors.root(t.id) for t in program.of_role(Role.PARAM) if t.trainable}


def _dependent_roots(
    program: Program, lines: Iterable[Instruction], sources: Iterable[int]
) -> set[int]:
    """Roots of all tensors that ``lines`` compute from the tensors in ``sources``, those included.

    An instruction with a gradient passes dependence on through its differentiable operands only;
    one without passes it on through all, so that a break in the path can be found. What is constant
    but for jumps ends it.
    """
    found = set(sources)
    for ins in lines:
        if not ins.flat and any(
            program.tensors.root(ref.id) in found for ref in _carrying_operands(ins)
        ):
            found.update(program.tensors.root(ref.id) for ref in _written(ins))
    return found


def _carrying_operands(ins: Instruction) -> tuple[Ref, ...]:
    """Operands through which a result depends on something trainable."""
    return tuple(
        ref
        for spec, ref in ins.named_operands()
        if ref.present
        and (
            spec.differentiable and spec.access is Access.READ
            if ins.grad_class is not None
            else spec.access is not Access.WRITE
        )
    )


def _written(ins: Instruction) -> tuple[Ref, ...]:
    """The data an instruction writes, with what it keeps for its gradient."""
    return tuple(
        ref for spec, ref in ins.named_operands() if spec.access is Access.WRITE and ref.present
    )


def _differentiable(program: Program, ref: Ref) -> bool:
    """Whether a tensor's element type can carry a gradient."""
    return program.tensors[ref.id].dtype in _DIFFERENTIABLE_TYPES
