"""Turns a trace into a program: its calls' lines, the gradients asked for, and what is fetched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from studio.engine.autodiff.differentiate import UserRule, differentiate
from studio.engine.compiler.passes.make_views import make_views
from studio.engine.core.tensor import Ref, Role, Tensor, TensorMap, TensorType
from studio.engine.isa.instruction import Instruction
from studio.engine.isa.ops.move import Copy, Zero
from studio.engine.isa.program import Program
from studio.engine.ops.call_trace import Custom, Trace
from studio.engine.ops.patterns import TYPES, Pattern


@dataclass(frozen=True)
class Written:
    """A trace as a program.

    Attributes:
        program: its lines, unfused.
        inputs: ids of the tensors that are fed, one for each leaf.
        outputs: operands of the results somebody has, in order of their places.
    """

    program: Program
    inputs: tuple[int, ...]
    outputs: tuple[Ref, ...]


def written(trace: Trace, live: tuple[int, ...], *, views: bool = False) -> Written:
    """The program of a trace.

    Args:
        trace: calls in order.
        live: places of the results that are fetched.
        views: let reshapes and copies be views before gradients are written, which then need no
            lines for them; a later pass finds this too late.

    Raises:
        GradientError: a call on the way to a scalar that is differentiated has no gradient.
    """
    writer = _Writer(trace, views=views)
    program = writer.finish(live)
    return Written(program, writer.inputs, tuple(writer.refs[place] for place in live))


def owner_of(index: int, name: str) -> str:
    """What owns the lines of a call, so that it can be found again."""
    return f"{name}_{index}"


def call_of(owner: str) -> int:
    """The index of the call that owns a line; -1 where none does."""
    number = owner.rpartition("_")[2]
    return int(number) if number.isdecimal() else -1


def _with_views(program: Program, loss: Ref) -> tuple[Program, Ref]:
    """The program with views, and the scalar that a line writes; both as they are without one."""
    made = make_views(program)
    root = made.tensors[made.tensors.root(loss.id)]
    if root.shape or root.role is not Role.ACTIVATION:
        return program, loss
    return made, root.ref


class _Writer:
    """Writes the lines of one trace.

    Attributes:
        refs: operands by place.
        inputs: ids of the leaves.
    """

    def __init__(self, trace: Trace, *, views: bool) -> None:
        self._trace = trace
        # A rule of the user's names the lines it stands for by their numbers.
        self._views = views and not trace.customs
        self._tensors: list[Tensor] = []
        self._constants: dict[str, Ref] = {}
        self.refs: dict[int, Ref] = {}
        for number, kind in enumerate(trace.leaf_kinds):
            self.refs[~number] = self._tensor(f"input{number}", TYPES[kind], Role.INPUT)
        self.inputs = tuple(range(len(trace.leaf_kinds)))
        self._calls: list[tuple[Pattern, tuple[int, ...], int]] = []
        at = place = 0
        for pattern in trace.patterns:
            read = tuple(trace.operands[at : at + pattern.reads])
            self._calls.append((pattern, read, place))
            at += pattern.reads
            place += len(pattern.kinds)

    def finish(self, live: tuple[int, ...]) -> Program:
        """All lines; the places that are fetched are its outputs."""
        trace = self._trace
        last = trace.gradient if trace.gradient >= 0 else len(self._calls)
        apart = {i for custom in trace.customs for i in range(*custom.rule)}
        forward: list[Instruction] = []
        lines_of: dict[int, range] = {}
        for index in range(last):
            if index not in apart:
                begin = len(forward)
                self._replay(index, forward)
                lines_of[index] = range(begin, len(forward))
        sections = {"forward": forward}
        if trace.gradient < 0:
            return self._program(sections, live)
        _, operands, place = self._calls[last]
        loss, *wanted = (self.refs[o] for o in operands)
        rules = [self._rule(custom, lines_of) for custom in trace.customs]
        program = self._program(sections, ())
        if self._views:
            program, loss = _with_views(program, loss)
        program = differentiate(program, loss, wrt=wanted, rules=rules)
        self._tensors = list(program.tensors.values())
        update: list[Instruction] = []
        self._gradients(last, program, wanted, place, update, live)
        for index in range(last + 1, len(self._calls)):
            self._replay(index, update)
        return self._program({**program.sections, "update": update}, live)

    def _gradients(
        self, index: int, program: Program, wanted: Sequence[Ref], place: int,
        lines: list[Instruction], live: tuple[int, ...],
    ) -> None:  # fmt: skip
        """What later calls read as gradients.

        Those of inputs stay to the end of a run, others that somebody has are copied away.
        """
        owners = (owner_of(index, "gradient"),)
        reached = {
            program.storage(r) for ins in program.section("backward") for r in ins.effects().writes
        }
        for number, ref in enumerate(wanted):
            if program.storage(ref.gradient) not in reached:
                lines.append(Zero(y=ref.gradient, owners=owners))
            made = ref.gradient
            if place + number in live and ref.id not in self.inputs:
                made = self._tensor(f"gradient{number}_{index}", self._tensors[ref.id].type)
                lines.append(Copy(x=ref.gradient, y=made, owners=owners))
            self.refs[place + number] = made

    def _rule(self, custom: Custom, lines_of: dict[int, range]) -> UserRule:
        """The lines of a gradient that the user wrote."""
        lines: list[Instruction] = []
        begin, end = custom.rule
        for index in range(begin, end):
            pattern, _, place = self._calls[index]
            if pattern.special:
                self.refs[place] = self.refs[custom.result].gradient
            else:
                self._replay(index, lines)
        body = [n for i in range(custom.first, custom.last) for n in lines_of.get(i, ())]
        pairs = zip(custom.inputs, custom.made, strict=True)
        delivered = []
        for number, (given, made) in enumerate(pairs):
            kind = self._tensors[self.refs[given].id].type
            through = self._tensor(f"through{number}_{begin}", kind)
            delivered.append((self.refs[given], self.refs[made], through))
        owner = (owner_of(begin, "custom_grad"),)
        return UserRule(
            frozenset(body), self.refs[custom.result], tuple(lines), tuple(delivered), owner
        )

    def _replay(self, index: int, lines: list[Instruction]) -> None:
        """Append the lines of a call."""
        pattern, operands, place = self._calls[index]
        program = pattern.program
        owner = owner_of(index, pattern.name)
        local = {
            given: self.refs[operand]
            for given, operand in zip(program.inputs, operands, strict=True)
        }
        for tensor in program.tensors.values():
            if tensor.id not in local:
                local[tensor.id] = self._made(tensor, index)
        for ins in program.section("forward"):
            moved = ins.map_refs(lambda ref: local[ref.id])
            lines.append(moved.replace(owners=(owner,)))
        for number, made in enumerate(program.outputs):
            self.refs[place + number] = local[made]

    def _made(self, tensor: Tensor, index: int) -> Ref:
        if tensor.role is not Role.CONST:
            name = f"{tensor.name.replace('/', '_')}_{index}"
            return self._tensor(name, tensor.type)
        found = self._constants.get(tensor.name)
        if found is None:
            found = self._tensor(tensor.name, tensor.type, Role.CONST, tensor.value)
            self._constants[tensor.name] = found
        return found

    def _tensor(
        self,
        name: str,
        found: TensorType,
        role: Role = Role.ACTIVATION,
        value: tuple[float, ...] | None = None,
    ) -> Ref:
        made = Ref(len(self._tensors))
        self._tensors.append(Tensor(made.id, name, found.shape, found.dtype, role, value=value))
        return made

    def _program(
        self, sections: Mapping[str, Sequence[Instruction]], live: tuple[int, ...]
    ) -> Program:
        return Program(
            "ops",
            "infer",
            TensorMap(self._tensors),
            {name: tuple(lines) for name, lines in sections.items()},
            self.inputs,
            tuple(ref.id for place in live if not (ref := self.refs[place]).grad),
        )
