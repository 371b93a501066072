"""The binary form of a program: length-prefixed records, little-endian, bounds-checked on reading.

A program is bytes in this order, all integers unsigned little-endian unless said otherwise:

    text name, text mode, u32 meta count, (text key, text value)…
    u32 tensor count, tensor records…
    u32 input count, u32 ids…; u32 output count, u32 ids…
    u8 section count, (text name, u32 instruction count, instruction records…)…

In version 2 the section count is u32, and a section may come again: its lines run where they stand.

A text is u32 length and UTF-8. A record is u32 length and that many bytes; an instruction record
is u32 opcode, u32 length, payload, so that a reader can step over an opcode it does not know.
Inside a payload an operand is u32 = 2·id + gradient bit, 0xffffffff when absent; an operand list
has u16 count in front; scalars follow in declared order; then u8 count of tail entries (text name,
value); then u8 count of owners (text). An operand that is newer than the version of the file has no
place in it. Values: INT i64, FLOAT f32, FLAG u8, CHOICE text, INTS u16
count and i64s, NAMES u16 count and texts.
"""

from __future__ import annotations

import struct
from typing import Any

from studio.engine.core.dtypes import DType
from studio.engine.core.errors import FormatError, ParameterError, StudioError, quoted
from studio.engine.core.options import OptionKind
from studio.engine.core.tensor import ABSENT, Ref, Role, Tensor, TensorMap
from studio.engine.isa.fields import Attr, Operand
from studio.engine.isa.instruction import Instruction, by_code
from studio.engine.isa.program import SECTIONS, Program
from studio.engine.isa.versions import (
    NEWEST,
    check_needed,
    check_section,
    check_tensor,
    check_types,
    program_version,
)

_ABSENT_WORD = 0xFFFFFFFF
_ROLES = {role: i for i, role in enumerate(Role)}
_ROLE_OF = dict(enumerate(Role))
_TRAINABLE, _WEIGHT, _REGISTER, _VIEW, _VALUE, _PARTIAL = 1, 2, 4, 8, 16, 32


class Writer:
    """Appends primitive values to a byte string."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []

    def pack(self, code: str, *values: float) -> None:
        """Append values in ``struct`` notation, little-endian."""
        self.parts.append(struct.pack("<" + code, *values))

    def text(self, value: str) -> None:
        """Append a length-prefixed UTF-8 text."""
        raw = value.encode("utf-8")
        self.pack("I", len(raw))
        self.parts.append(raw)

    def record(self, payload: bytes) -> None:
        """Append a length-prefixed record."""
        self.pack("I", len(payload))
        self.parts.append(payload)

    def data(self) -> bytes:
        """Everything appended."""
        return b"".join(self.parts)


class Reader:
    """Takes primitive values from a byte string; every step is bounds-checked.

    Args:
        data: the bytes.
        start: first byte.
        stop: byte behind the last.
    """

    def __init__(self, data: bytes, start: int = 0, stop: int | None = None) -> None:
        self.data = data
        self.at = start
        self.stop = len(data) if stop is None else stop

    def take(self, count: int) -> bytes:
        """The next ``count`` bytes; FormatError with the offset when they are not there."""
        if count < 0 or count > self.stop - self.at:
            raise FormatError(
                f"truncated at byte {self.at}: {count} bytes are needed, {self.stop - self.at} left"
            )
        self.at += count
        return self.data[self.at - count : self.at]

    def unpack(self, code: str) -> Any:
        """One value in ``struct`` notation, little-endian."""
        return struct.unpack("<" + code, self.take(struct.calcsize("<" + code)))[0]

    def count(self, code: str, least: int) -> int:
        """A count of items of at least ``least`` bytes each, refused when they cannot fit."""
        number = int(self.unpack(code))
        if number * least > self.stop - self.at:
            raise FormatError(f"a count of {number} at byte {self.at} does not fit the file")
        return number

    def text(self) -> str:
        """A length-prefixed UTF-8 text."""
        raw = self.take(int(self.unpack("I")))
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError:
            raise FormatError(f"text before byte {self.at} is not UTF-8") from None

    def record(self) -> Reader:
        """A reader over the next length-prefixed record."""
        length = int(self.unpack("I"))
        start = self.at
        self.take(length)
        return Reader(self.data, start, self.at)

    def finish(self, what: str) -> None:
        """FormatError when bytes are left over."""
        if self.at != self.stop:
            raise FormatError(f"{self.stop - self.at} bytes too many at the end of {what}")


def encode_instruction(ins: Instruction, version: int = NEWEST) -> bytes:
    """Opcode, length and payload of one instruction, which must not be newer than ``version``."""
    payload = Writer()
    for spec in ins.operand_fields:
        if spec.since > version:
            continue
        refs = ins.refs(spec.name)
        if spec.variadic:
            payload.pack("H", len(refs))
        for ref in refs:
            payload.pack("I", _ref_word(ref))
    for attr in (a for a in ins.attr_fields if not a.tail):
        _write_value(payload, attr, ins.value(attr.name))
    tail = [a for a in ins.attr_fields if a.tail and not a.is_default(ins.value(a.name))]
    payload.pack("B", len(tail))
    for attr in tail:
        payload.text(attr.name)
        _write_value(payload, attr, ins.value(attr.name))
    payload.pack("B", len(ins.owners))
    for owner in ins.owners:
        payload.text(owner)
    out = Writer()
    out.pack("I", ins.code)
    out.record(payload.data())
    return out.data()


def decode_instruction(
    reader: Reader, version: int = NEWEST, *, skip_unknown: bool = False
) -> Instruction | None:
    """The next instruction; an unknown opcode is an error naming its offset, or None if skipped."""
    offset = reader.at
    code = int(reader.unpack("I"))
    body = reader.record()
    cls = by_code(code)
    if cls is None:
        if skip_unknown:
            return None
        raise FormatError(
            f"unknown opcode {code} at byte {offset}",
            hint="the file may come from a newer Glassbox; reading can skip what it does not know",
        )
    check_needed(cls.since, version, f"{cls.mnemonic} at byte {offset}")
    fields: dict[str, Any] = {}
    for spec in cls.operand_fields:
        if spec.since > version:
            continue
        fields[spec.name] = _read_operand(body, spec, cls.mnemonic)
    for attr in (a for a in cls.attr_fields if not a.tail):
        fields[attr.name] = _read_value(body, attr, cls.mnemonic)
    known = {a.name: a for a in cls.attr_fields if a.tail}
    for _ in range(body.unpack("B")):
        name = body.text()
        if name not in known or name in fields:
            raise FormatError(
                f"tail entry {quoted(name)} is unknown or given twice", who=cls.mnemonic
            )
        check_needed(
            known[name].since, version, f"tail entry {name!r} of {cls.mnemonic} at byte {offset}"
        )
        fields[name] = _read_value(body, known[name], cls.mnemonic)
    owners = tuple(body.text() for _ in range(body.unpack("B")))
    body.finish(f"{cls.mnemonic} at byte {offset}")
    try:
        return cls(owners=owners, **fields)
    except ParameterError as error:
        raise FormatError(f"{error.message} (at byte {offset})", who=error.who) from None


def encode_program(program: Program) -> bytes:
    """A whole program as bytes, in the version it needs (``isa.versions``)."""
    version = program_version(program)
    out = Writer()
    out.text(program.name)
    out.text(program.mode)
    out.pack("I", len(program.meta))
    for key, value in sorted(program.meta.items()):
        out.text(key)
        out.text(value)
    out.pack("I", len(program.tensors))
    for tensor in program.tensors.values():
        out.record(_encode_tensor(tensor))
    for ids in (program.inputs, program.outputs):
        out.pack("I", len(ids))
        out.pack(f"{len(ids)}I", *ids)
    written = tuple(program.written_sections())
    out.pack("B" if version == 1 else "I", len(written))
    for name, lines in written:
        out.text(name)
        out.pack("I", len(lines))
        out.parts.extend(encode_instruction(ins, version) for ins in lines)
    return out.data()


def decode_program(data: bytes, version: int, *, skip_unknown: bool = False) -> Program:
    """The program ``encode_program`` wrote; FormatError with an offset for anything else.

    Args:
        data: the bytes.
        version: version of the form they are in.
        skip_unknown: leave instructions of unknown opcode out instead of refusing them.
    """
    try:
        return _decode_program(Reader(data), version, skip_unknown)
    except FormatError:
        raise
    except StudioError as error:
        raise FormatError(error.message, who=error.who, hint=error.hint) from None


def _decode_program(reader: Reader, version: int, skip_unknown: bool) -> Program:
    name, mode = reader.text(), reader.text()
    if mode not in ("train", "evaluate", "infer"):
        raise FormatError(f"unknown mode {quoted(mode)}")
    meta = {}
    for _ in range(reader.count("I", 8)):
        key = reader.text()
        meta[key] = reader.text()
    tensors: dict[int, Tensor] = {}
    for _ in range(reader.count("I", 4)):
        tensor = _decode_tensor(reader.record())
        check_tensor(tensor, version)
        if tensor.id in tensors:
            raise FormatError(f"tensor {tensor.id:#x} is declared twice")
        if tensor.view_of is not None and tensor.view_of not in tensors:
            raise FormatError(f"tensor {tensor.id:#x} is a view of one not declared before it")
        tensors[tensor.id] = tensor
    ports = []
    for _ in range(2):
        ids = tuple(int(reader.unpack("I")) for _ in range(reader.count("I", 4)))
        ports.append(ids)
    sections: dict[str, list[Instruction]] = {}
    order: list[tuple[str, int]] = []
    for _ in range(reader.unpack("B") if version == 1 else reader.count("I", 8)):
        section = reader.text()
        if section not in SECTIONS:
            raise FormatError(f"section {quoted(section)} is unknown")
        check_section(section, version)
        if section in sections:
            check_needed(2, version, f"section {section} a second time")
        decoded = [
            decode_instruction(reader, version, skip_unknown=skip_unknown)
            for _ in range(reader.count("I", 8))
        ]
        found = [ins for ins in decoded if ins is not None]
        sections.setdefault(section, []).extend(found)
        order.append((section, len(found)))
    reader.finish("the program")
    program = Program(
        name,
        mode,
        TensorMap(tensors.values()),
        {section: tuple(found) for section, found in sections.items()},
        ports[0],
        ports[1],
        meta,
        () if version == 1 else tuple(order),
    )
    _check_references(program)
    check_types(program, version)
    return program


def _check_references(program: Program) -> None:
    for tensor_id in (*program.inputs, *program.outputs):
        if tensor_id not in program.tensors:
            raise FormatError(f"input or output {tensor_id:#x} is not a declared tensor")
    for ins in program:
        for ref in ins.operands:
            if ref.present and ref.id not in program.tensors:
                raise FormatError(f"{ref} is not declared", who=ins.mnemonic)


def _encode_tensor(tensor: Tensor) -> bytes:
    out = Writer()
    flags = (
        _TRAINABLE * tensor.trainable
        + _WEIGHT * tensor.weight
        + _REGISTER * tensor.register
        + _VIEW * (tensor.view_of is not None)
        + _VALUE * (tensor.value is not None)
        + _PARTIAL * tensor.partial
    )
    out.pack("IBBBB", tensor.id, tensor.dtype.code, _ROLES[tensor.role], flags, len(tensor.shape))
    out.pack(f"{len(tensor.shape)}q", *tensor.shape)
    out.pack("B", len(tensor.pad))
    for before, after in tensor.pad:
        out.pack("II", before, after)
    out.pack("I", tensor.stream)
    for text in (tensor.name, tensor.init, tensor.layer, tensor.port):
        out.text(text)
    if tensor.view_of is not None:
        out.pack("I", tensor.view_of)
    if tensor.value is not None:
        out.pack("I", len(tensor.value))
        out.pack(f"{len(tensor.value)}f", *tensor.value)
    return out.data()


def _decode_tensor(reader: Reader) -> Tensor:
    tensor_id = int(reader.unpack("I"))
    dtype = DType.from_code(int(reader.unpack("B")))
    role = _ROLE_OF.get(int(reader.unpack("B")))
    flags = int(reader.unpack("B"))
    shape = tuple(int(reader.unpack("q")) for _ in range(reader.unpack("B")))
    if role is None or flags > 63 or any(d < 0 for d in shape[1:]) or (shape and shape[0] < -2):
        raise FormatError(f"tensor {tensor_id:#x} has an impossible role, flag or shape")
    pad = tuple(
        (int(reader.unpack("I")), int(reader.unpack("I"))) for _ in range(reader.unpack("B"))
    )
    if pad and len(pad) != len(shape):
        raise FormatError(f"tensor {tensor_id:#x} needs padding for every dimension")
    stream = int(reader.unpack("I"))
    name, init, layer, port = (reader.text() for _ in range(4))
    view_of = int(reader.unpack("I")) if flags & _VIEW else None
    value = None
    if flags & _VALUE:
        value = tuple(float(reader.unpack("f")) for _ in range(reader.count("I", 4)))
    reader.finish(f"tensor {tensor_id:#x}")
    return Tensor(
        tensor_id,
        name,
        shape,
        dtype,
        role,
        trainable=bool(flags & _TRAINABLE),
        weight=bool(flags & _WEIGHT),
        init=init,
        stream=stream,
        pad=pad,
        view_of=view_of,
        register=bool(flags & _REGISTER),
        partial=bool(flags & _PARTIAL),
        value=value,
        layer=layer,
        port=port,
    )


def _ref_word(ref: Ref) -> int:
    return 2 * ref.id + ref.grad if ref.present else _ABSENT_WORD


def _read_operand(reader: Reader, spec: Operand, who: str) -> Ref | tuple[Ref, ...]:
    if not spec.variadic:
        return _read_ref(reader, spec, who)
    return tuple(_read_ref(reader, spec, who) for _ in range(reader.count("H", 4)))


def _read_ref(reader: Reader, spec: Operand, who: str) -> Ref:
    word = int(reader.unpack("I"))
    if word != _ABSENT_WORD:
        return Ref(word >> 1, bool(word & 1))
    if not spec.optional:
        raise FormatError(f"operand {spec.name!r} may not be absent", who=who)
    return ABSENT


def _write_value(out: Writer, attr: Attr[Any], value: Any) -> None:
    if attr.kind is OptionKind.INTEGER:
        out.pack("q", value)
    elif attr.kind is OptionKind.NUMBER:
        out.pack("f", value)
    elif attr.kind is OptionKind.FLAG:
        out.pack("B", value)
    elif attr.kind is OptionKind.CHOICE:
        out.text(value)
    else:
        out.pack("H", len(value))
        for item in value:
            if attr.kind is OptionKind.INTEGERS:
                out.pack("q", item)
            else:
                out.text(item)


def _read_value(reader: Reader, attr: Attr[Any], who: str) -> Any:
    raw: Any
    if attr.kind is OptionKind.INTEGER:
        raw = int(reader.unpack("q"))
    elif attr.kind is OptionKind.NUMBER:
        raw = float(reader.unpack("f"))
    elif attr.kind is OptionKind.FLAG:
        raw = int(reader.unpack("B"))
    elif attr.kind is OptionKind.CHOICE:
        raw = reader.text()
    elif attr.kind is OptionKind.INTEGERS:
        raw = tuple(int(reader.unpack("q")) for _ in range(reader.count("H", 8)))
    else:
        raw = tuple(reader.text() for _ in range(reader.count("H", 4)))
    return attr.check(raw, who)
