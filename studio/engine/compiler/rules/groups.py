"""Rules about fused groups and the register tensors that live inside them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from studio.engine.compiler.fusion import begun_with
from studio.engine.compiler.rules.breach import Breach
from studio.engine.core.tensor import Ref, shape_text
from studio.engine.isa.instruction import GradInstruction, Instruction
from studio.engine.isa.ops.group import End, Fuse
from studio.engine.isa.ops.linear import Linear
from studio.engine.isa.ops.loss import ROW_LOSSES, RowLoss
from studio.engine.isa.ops.norm import ColumnSums, is_affine
from studio.engine.isa.ops.update import Update
from studio.engine.isa.program import Program

Line = tuple[int, Instruction]


def check_groups(program: Program) -> Iterator[Breach]:
    """FUSE and END in pairs, groups of one kind, registers only inside one group.

    The parts of a group may be of several sections.
    """
    group_of: dict[int, int] = {}
    sections: list[str] = []
    opened: Line | None = None
    parts: list[Line] = []
    for section, index, ins in program.located():
        sections.append(section)
        if isinstance(ins, Fuse):
            if opened is not None:
                yield Breach(
                    "groups do not nest", f"a FUSE inside the group of line {opened[0]}", index
                )
            opened, parts = (index, ins), []
        elif isinstance(ins, End):
            if opened is None:
                yield Breach("every END has a FUSE", "one without", index)
            else:
                yield from _check_parts(program, opened, parts)
                yield from _check_ends(sections, opened[0])
            opened = None
        elif opened is not None:
            parts.append((index, ins))
            group_of[index] = opened[0]
    if opened is not None:
        yield Breach("every FUSE has an END", "one without", opened[0])
    yield from _check_registers(program, group_of)


def _check_ends(sections: Sequence[str], begin: int) -> Iterator[Breach]:
    """Which sections the markers of a group are in.

    Args:
        sections: of all lines up to the END.
        begin: index of the FUSE.
    """
    first, *parts, last = sections[begin:]
    if parts and (first, last) != (parts[0], parts[-1]):
        rule = "FUSE is in the section of the first part, END in that of the last"
        yield Breach(rule, f"they are in {first} and {last}", begin)


def _check_parts(program: Program, opened: Line, parts: Sequence[Line]) -> Iterator[Breach]:
    index, fuse = opened
    kind = fuse.value("kind")
    if len(parts) < 2:
        yield Breach("a group has at least two parts", f"it has {len(parts)}", index)
        return
    first = parts[0][1]
    if kind == "update":
        for place, ins in parts:
            if not isinstance(ins, Update) or alike(ins) != alike(first):
                yield Breach(
                    "an update group holds updates that are all alike", ins.mnemonic, place
                )
        return
    if kind == "row_loss":
        yield from _check_row_loss(program, parts)
        return
    simple = parts if kind == "chain" else parts[1:]
    sums = [line for line in simple if kind == "epilogue" and isinstance(line[1], ColumnSums)]
    yield from _check_sums(sums, parts)
    for place, ins in simple:
        if (place, ins) in sums:
            continue
        follows = ins.elementwise or (kind == "epilogue" and is_affine(ins))
        if not follows or isinstance(ins, Update):
            yield Breach(f"a group of kind {kind} is element-wise", ins.mnemonic, place)
    if kind != "epilogue":
        return
    if first.elementwise or _made(first) is None:
        yield Breach("an epilogue follows a producer", first.mnemonic, parts[0][0])
    elif first.merged(program.type_of):
        rule = "an epilogue follows a producer of one dimension in front of the pictures"
        yield Breach(rule, first.mnemonic, parts[0][0])
    else:
        yield from _check_shapes(program, first, [line for line in simple if line not in sums])


def _made(first: Instruction) -> Ref | None:
    """What a tail begins with: the producer's result, or its gradient for x or a; None: neither."""
    fields = {spec.name for spec in first.operand_fields}
    if isinstance(first, GradInstruction):
        made = begun_with(first)
        return made if made.present else None
    return first.ref("y") if "y" in fields else None


def _check_shapes(program: Program, first: Instruction, tail: Sequence[Line]) -> Iterator[Breach]:
    """What a tail writes has the shape of what its group begins with."""
    made = _made(first)
    shape = () if made is None else program.type_of(made).shape
    for place, ins in tail:
        for ref in sorted(ins.effects().writes):
            found = program.type_of(ref).shape
            if found != shape:
                rule = f"a tail has the shape {shape_text(shape)} of what its group begins with"
                yield Breach(rule, f"{ref} is {shape_text(found)}", place)


def _check_sums(sums: Sequence[Line], parts: Sequence[Line]) -> Iterator[Breach]:
    """Sums of columns stand last in an epilogue, and are of what it makes."""
    for place, ins in sums:
        if (place, ins) not in parts[len(parts) - len(sums) :]:
            yield Breach("sums of columns end an epilogue", ins.mnemonic, place)
        elif not any(ins.operands[0] in part.effects().writes for _, part in parts):
            yield Breach("an epilogue sums columns of what it makes", ins.mnemonic, place)


def _check_row_loss(program: Program, parts: Sequence[Line]) -> Iterator[Breach]:
    """A dense layer, the losses of its rows, and of gradients what follows from them."""
    (place, layer), (next_place, rows) = parts[:2]
    if not isinstance(layer, Linear):
        yield Breach("a group of kind row_loss begins with LINEAR", layer.mnemonic, place)
        return
    if not isinstance(rows, RowLoss) or rows.p != layer.y or rows.value("source") != "logits":
        yield Breach("the losses of the layer's rows follow it", rows.mnemonic, next_place)
        return
    loss = next(whole for whole, row in ROW_LOSSES.items() if isinstance(rows, row))
    for place, ins in parts[2:3]:
        if not _sets_gradient(ins, loss, rows, ("p", "t", "weights"), "p"):
            yield Breach("the gradient of that loss follows, set", ins.mnemonic, place)
    for place, ins in parts[3:4]:
        if not _sets_gradient(ins, Linear, layer, ("w", "x", "y"), "x"):
            yield Breach("the gradient of the layer's input follows, set", ins.mnemonic, place)
    for place, ins in parts[4:]:
        if not isinstance(ins, GradInstruction) or not ins.elementwise:
            yield Breach("its tail is element-wise gradients", ins.mnemonic, place)
    if parts[4:]:
        yield from _check_shapes(program, parts[3][1], parts[4:])


def _sets_gradient(
    ins: Instruction,
    forward: type[Instruction],
    other: Instruction,
    shared: Sequence[str],
    wanted: str,
) -> bool:
    """Whether a line is a gradient instruction that sets just one gradient, of these operands."""
    if not isinstance(ins, GradInstruction) or ins.forward is not forward or not ins.sets(wanted):
        return False
    same = all(ins.ref(name) == other.ref(name) for name in shared)
    return same and [name for name, _ in ins.targets()] == [wanted]


def alike(ins: Instruction) -> tuple[object, ...]:
    """What updates of one group have in common: everything but parameter, gradient and slots."""
    shared = tuple(
        ins.ref(n) for n in ("step", "rates") if n in {f.name for f in ins.operand_fields}
    )
    present = tuple(ref.present for ref in ins.operands)
    return (ins.code, tuple(ins.attrs.values()), shared, present)


def _check_registers(program: Program, group_of: dict[int, int]) -> Iterator[Breach]:
    home: dict[int, int] = {}
    written: set[int] = set()
    for _, index, ins in program.located():
        effects = ins.effects()
        for ref in sorted(effects.reads | effects.writes):
            if ref.grad or not program.tensors[ref.id].register:
                continue
            name = program.tensors[ref.id].name
            group = group_of.get(index, -1)
            if group < 0 or home.setdefault(ref.id, group) != group:
                yield Breach("a register tensor lives inside one group", f"{name} ({ref})", index)
            elif ref in effects.reads and ref.id not in written:
                yield Breach("a register is written before it is read", f"{name} ({ref})", index)
            if ref in effects.writes:
                written.add(ref.id)
