"""The text form of a whole program, ``.gbasm``: directives, tensors, sections, lines with owners.

A file is lines of UTF-8. ``;`` begins a comment; ``@name`` words in the comment of an instruction
are the layers it came from. A ``.section`` may come again, inside a group too (version 2). Printing
and parsing are exact inverses.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any
from urllib.parse import quote, unquote

from studio.engine.core.dtypes import DType
from studio.engine.core.errors import FormatError, StudioError, quoted
from studio.engine.core.tensor import BATCH, ROWS, Pads, Role, Shape, Tensor, TensorMap, shape_text
from studio.engine.isa.fields import float32_round
from studio.engine.isa.instruction import Instruction
from studio.engine.isa.line import format_line, number_text, parse_line, parse_ref
from studio.engine.isa.program import SECTIONS, Program
from studio.engine.isa.versions import (
    check_line,
    check_needed,
    check_section,
    check_tensor,
    check_types,
    check_version,
    program_version,
)

# Possessive: without it every character of a string keeps a place to go back to.
_STRING = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_CODE = re.compile(rf'(?:[^";]++|{_STRING})*+')
_TENSOR = re.compile(
    rf"\.tensor (0x[0-9a-f]{{1,8}}) ({_STRING}) (\w+) (\[[^\]]*\]) (\w+)"
    rf'((?: [a-z]++(?:=(?:{_STRING}|[^ "]++))?)*+)\Z'
)
_OPTION = re.compile(rf"([a-z]+)(?:=({_STRING}|[^ ]+))?")
_SURROGATE = re.compile("[\ud800-\udfff]")
_COMMENT_COLUMN = 48
_FLAGS = ("trainable", "weight", "register", "partial")


def format_program(program: Program) -> str:
    """The program as ``.gbasm`` text."""
    version = program_version(program)
    lines = [f".glassbox {version}", f".program {_quoted(program.name)} {program.mode}"]
    lines += [f".meta {_quoted(k)} {_quoted(v)}" for k, v in sorted(program.meta.items())]
    lines += [format_tensor(t) for t in program.tensors.values()]
    lines += [f".input {i:#x}" for i in program.inputs]
    lines += [f".output {i:#x}" for i in program.outputs]
    for name, found in program.written_sections():
        lines += ["", f".section {name}"]
        lines += [_with_owners(ins) for ins in found]
    return "\n".join([*lines, ".end", ""])


def format_listing(program: Program) -> str:
    """Only the instructions, one per line, in running order."""
    return "".join(f"{format_line(ins)}\n" for ins in program)


def format_tensor(tensor: Tensor) -> str:
    """One ``.tensor`` directive."""
    words = [
        f".tensor {tensor.id:#x}",
        _quoted(tensor.name),
        tensor.dtype.name,
        shape_text(tensor.shape),
        tensor.role.value,
    ]
    words += [flag for flag in _FLAGS if getattr(tensor, flag)]
    if tensor.init:
        words.append(f"init={_quoted(tensor.init)}")
    if tensor.stream:
        words.append(f"stream={tensor.stream}")
    if tensor.pad:
        words.append("pad=" + ",".join(f"{a}:{b}" for a, b in tensor.pad))
    if tensor.view_of is not None:
        words.append(f"view={tensor.view_of:#x}")
    if tensor.value is not None:
        words.append("value=" + (",".join(number_text(v) for v in tensor.value) or "-"))
    if tensor.layer:
        words.append(f"layer={_quoted(tensor.layer)}")
    if tensor.port:
        words.append(f"port={_quoted(tensor.port)}")
    return " ".join(words)


def parse_program(text: str, who: str = "program") -> Program:
    """The program a ``.gbasm`` text stands for.

    Raises FormatError naming the line number for anything that is not exactly the form.
    """
    reader = _Reader(who)
    for number, raw in enumerate(_lines(text), start=1):
        try:
            reader.take(raw)
        except (StudioError, ValueError, OverflowError, RecursionError) as error:
            message = error.message if isinstance(error, StudioError) else str(error)
            inner = f"{error.who}: " if isinstance(error, StudioError) and error.who else ""
            hint = error.hint if isinstance(error, StudioError) else ""
            raise FormatError(
                f"{inner}{message}", who=who, hint=hint, origin=f"line {number}"
            ) from None
    return reader.program()


def _lines(text: str) -> Iterator[str]:
    """The lines one by one: a list of all of them would take more than the text."""
    begin = 0
    while (end := text.find("\n", begin)) >= 0:
        yield text[begin:end]
        begin = end + 1
    yield text[begin:]


class _Reader:
    """Takes a text line by line and keeps what it said."""

    def __init__(self, who: str) -> None:
        self.who = who
        self.state = "start"
        self.name = ""
        self.mode = ""
        self.version = 0
        self.section = ""
        self.meta: dict[str, str] = {}
        self.tensors: dict[int, Tensor] = {}
        self.names: set[str] = set()
        self.inputs: list[int] = []
        self.outputs: list[int] = []
        self.sections: dict[str, list[Instruction]] = {}
        self.order: list[tuple[str, int]] = []
        self._owners: dict[str, tuple[str, ...]] = {}
        self._handlers = {
            ".glassbox": self._version,
            ".program": self._program,
            ".meta": self._meta,
            ".tensor": self._tensor,
            ".input": self._port,
            ".output": self._port,
            ".section": self._section,
            ".end": self._end,
        }

    def take(self, raw: str) -> None:
        """Read one line."""
        code, comment = _split_comment(raw)
        if not code:
            return
        if self.state == "done":
            raise FormatError("nothing may follow .end")
        if not code.startswith("."):
            self._instruction(code, comment)
            return
        word, _, rest = code.partition(" ")
        if word not in self._handlers:
            raise FormatError(f"unknown directive {quoted(word)}")
        if self.state == "start" and word != ".glassbox":
            raise FormatError("the first directive must be .glassbox")
        self._handlers[word](code, rest)

    def program(self) -> Program:
        """What was read, once ``.end`` has been seen."""
        if self.state != "done":
            raise FormatError("the file ends before .end", who=self.who)
        program = Program(
            self.name,
            self.mode,
            TensorMap(self.tensors.values()),
            {name: tuple(self.sections[name]) for name in SECTIONS if name in self.sections},
            tuple(self.inputs),
            tuple(self.outputs),
            self.meta,
            tuple(self.order),
        )
        check_types(program, self.version)
        return program

    def _version(self, code: str, rest: str) -> None:
        if self.state != "start":
            raise FormatError(".glassbox may stand only once")
        if not rest.isdecimal():
            raise FormatError("a version number is expected")
        self.version = int(rest[:9])
        check_version(self.version)
        self.state = "head"

    def _program(self, code: str, rest: str) -> None:
        match = re.fullmatch(rf"({_STRING}) (train|evaluate|infer)", rest)
        if match is None or self.mode:
            raise FormatError('one .program "name" train|evaluate|infer is expected')
        self.name, self.mode = _unquoted(match[1]), match[2]

    def _meta(self, code: str, rest: str) -> None:
        match = re.fullmatch(rf"({_STRING}) ({_STRING})", rest)
        if match is None:
            raise FormatError('.meta "key" "value" is expected')
        key = _unquoted(match[1])
        if key in self.meta:
            raise FormatError(f"meta {quoted(key)} is given twice")
        self.meta[key] = _unquoted(match[2])

    def _tensor(self, code: str, rest: str) -> None:
        tensor = parse_tensor(code)
        check_tensor(tensor, self.version)
        if tensor.id in self.tensors:
            raise FormatError(f"tensor {tensor.id:#x} is declared twice")
        if tensor.name in self.names:
            raise FormatError(f"two tensors are called {quoted(tensor.name)}")
        self.names.add(tensor.name)
        if tensor.view_of is not None and tensor.view_of not in self.tensors:
            raise FormatError(f"a view must follow its base: {tensor.view_of:#x} is not known")
        self.tensors[tensor.id] = tensor

    def _port(self, code: str, rest: str) -> None:
        ref = parse_ref(rest)
        if ref.id not in self.tensors or ref.grad:
            raise FormatError(f"{quoted(rest)} is not a declared tensor")
        (self.inputs if code.startswith(".input") else self.outputs).append(ref.id)

    def _section(self, code: str, rest: str) -> None:
        if rest not in SECTIONS:
            raise FormatError(f"a section out of {', '.join(SECTIONS)} is expected")
        check_section(rest, self.version)
        if rest in self.sections:
            check_needed(2, self.version, f"section {rest} a second time")
        if self.section and SECTIONS.index(rest) < SECTIONS.index(self.section):
            check_needed(2, self.version, f"section {rest} behind {self.section}")
        self.section = rest
        self.sections.setdefault(rest, [])
        self.order.append((rest, 0))

    def _instruction(self, code: str, comment: str) -> None:
        if not self.section:
            raise FormatError("an instruction precedes the first .section")
        if "@" not in comment:
            comment = ""
        if comment not in self._owners:
            named = [w[1:] for w in comment.split() if w.startswith("@")]
            self._owners[comment] = tuple(unquote(name) for name in named)
        ins = parse_line(code, self._owners[comment])
        check_line(ins, self.version)
        for ref in ins.operands:
            if ref.present and ref.id not in self.tensors:
                raise FormatError(f"{ref} is not declared", who=ins.mnemonic)
        self.sections[self.section].append(ins)
        self.order[-1] = (self.section, self.order[-1][1] + 1)

    def _end(self, code: str, rest: str) -> None:
        if not self.mode:
            raise FormatError(".program is missing")
        self.state = "done"


def parse_tensor(code: str) -> Tensor:
    """The tensor a ``.tensor`` directive declares."""
    match = _TENSOR.match(code)
    if match is None:
        raise FormatError('.tensor 0xID "name" dtype [shape] role … is expected')
    options = dict(_options(match[6]))
    flags = set(_FLAGS)
    known = flags | {"init", "stream", "pad", "view", "value", "layer", "port"}
    unknown = set(options) - known
    if unknown:
        raise FormatError(f"unknown tensor option {quoted(min(unknown))}")
    if any((options[o] is not None) == (o in flags) for o in options):
        raise FormatError("a tensor option has a value it should not have, or lacks one")
    fields: dict[str, Any] = {flag: True for flag in flags if flag in options}
    for key in ("init", "layer", "port"):
        if key in options:
            fields[key] = _unquoted(str(options[key]))
    if "stream" in options:
        fields["stream"] = int(str(options["stream"]))
    if "view" in options:
        fields["view_of"] = parse_ref(str(options["view"])).id
    if "pad" in options:
        fields["pad"] = _pads(str(options["pad"]))
    if "value" in options:
        fields["value"] = _values(str(options["value"]))
    shape = _shape(match[4])
    if "pad" in fields and len(fields["pad"]) != len(shape):
        raise FormatError("pad needs before:after for every dimension")
    try:
        role = Role(match[5])
    except ValueError:
        raise FormatError(f"unknown role {quoted(match[5])}") from None
    return Tensor(
        int(match[1], 16), _unquoted(match[2]), shape, DType.parse(match[3]), role, **fields
    )


def _options(text: str) -> Iterator[tuple[str, str | None]]:
    seen = set()
    for match in _OPTION.finditer(text):
        if match[1] in seen:
            raise FormatError(f"tensor option {quoted(match[1])} is given twice")
        seen.add(match[1])
        yield match[1], match[2]


@lru_cache(maxsize=1024)
def _shape(text: str) -> Shape:
    inner = text[1:-1]
    if not inner:
        return ()
    symbols = {"N": BATCH, "D": ROWS}
    words = inner.split(",")
    return tuple(symbols[w] if w in symbols else _count(w) for w in words)


def _count(word: str) -> int:
    if not word.isdecimal() or len(word) > 12:
        raise FormatError(f"a dimension is a whole number: got {quoted(word)}")
    return int(word)


def _pads(text: str) -> Pads:
    pads = []
    for word in text.split(","):
        before, _, after = word.partition(":")
        pads.append((_count(before), _count(after)))
    return tuple(pads)


def _values(text: str) -> tuple[float, ...]:
    return () if text == "-" else tuple(float32_round(float(w)) for w in text.split(","))


def _with_owners(ins: Instruction) -> str:
    line = format_line(ins)
    if not ins.owners:
        return line
    owners = " ".join("@" + quote(o, safe="/._-") for o in ins.owners)
    return f"{line:<{_COMMENT_COLUMN}} ; {owners}"


def _split_comment(raw: str) -> tuple[str, str]:
    end = raw.find(";")
    if end >= 0 and raw.find('"', 0, end) >= 0:
        found = _CODE.match(raw)
        end = -1 if found is None or raw[found.end() :][:1] != ";" else found.end()
    return (raw.strip(), "") if end < 0 else (raw[:end].strip(), raw[end + 1 :])


def _quoted(text: str) -> str:
    return json.dumps(text)


def _unquoted(text: str) -> str:
    value = json.loads(text)
    if not isinstance(value, str):
        raise FormatError("a quoted text is expected")
    if _SURROGATE.search(value):
        raise FormatError(f"half of a surrogate pair is no text: {quoted(value)}")
    return value
