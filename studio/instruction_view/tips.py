"""What pops up over an opcode, a register or a number: the manual, the tensor, the exact value."""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import escape

from studio.engine.core.tensor import Ref
from studio.engine.isa.instruction import Instruction
from studio.engine.isa.line import value_text
from studio.engine.isa.manual import FieldEntry, ManualEntry, entry_of
from studio.session.core.quantities import bytes_text
from studio.session.listing.tensor_map.rows import ROLE_NOTES, TensorRow
from studio.widgets import theme

_PLACE = re.compile(r"\{(\w+)\}")
_MOST = 8


def opcode_tip(line: Instruction) -> str:
    """The manual's entry of an instruction, with this line's operands put in."""
    found = entry_of(type(line))
    head, *rest = found.text.split("\n\n")
    title = f"<b style='color:{_ink('text')}'>{escape(found.mnemonic)}</b>"
    facts = f"opcode {found.code} · {escape(found.category)}"
    parts = [
        f"<p>{title} <span style='color:{_ink('text3')}'>{facts}</span></p>",
        f"<p>{escape(head)}</p>",
    ]
    if line.synopsis:
        parts.append(_code(_filled(line)))
    if found.formula:
        parts.append(_code("\n".join(found.formula)))
    parts += [f"<p>{escape(text)}</p>" for text in rest]
    parts.append(_fields(found, line))
    return _card("".join(parts))


def register_tip(row: TensorRow, names: Mapping[Ref, str], alias: str = "") -> str:
    """What is known of a register.

    Args:
        row: its row in the tensor table.
        names: names of tensors by register, for those that share its bytes.
        alias: what a person calls it.
    """
    facts = [("your name", alias)] if alias else []
    facts += [
        ("type", f"{row.dtype} {row.shape}"),
        ("role", f"{row.role}: {ROLE_NOTES[row.role]}"),
    ]
    if row.nbytes is not None:
        facts.append(("bytes", f"{row.nbytes:,} ({bytes_text(row.nbytes)})"))
    if row.view_of is not None:
        facts.append(("view of", f"{row.view_of} {names.get(row.view_of, '')}"))
    facts.append(("written by", "no instruction: an input or persistent" if row.producer is None
                  else f"#{row.producer}"))  # fmt: skip
    facts.append(("used by", _listed([f"#{use}" for use in row.uses]) or "nothing"))
    if row.lifetime is not None:
        facts.append(("needed", f"#{row.lifetime.first} to #{row.lifetime.last}"))
    elif row.kept:
        facts.append(("needed", "kept between runs"))
    if row.shares:
        facts.append(("shares bytes with", _listed([str(ref) for ref in row.shares])))
    title = (
        f"<p><b style='color:{_ink('accent')}'>{row.ref}</b> "
        f"<b style='color:{_ink('text')}'>{escape(row.key)}</b></p>"
    )
    return _card(title + _table(facts))


def plain_tip(text: str) -> str:
    """A short text, escaped."""
    return escape(text)


def _filled(line: Instruction) -> str:
    """The synopsis with registers and scalars in the place of their names."""

    def value(match: re.Match[str]) -> str:
        name = match[1]
        if any(spec.name == name for spec in line.operand_fields):
            return ", ".join(str(ref) for ref in line.refs(name))
        return str(line.attrs.get(name, match[0]))

    return _PLACE.sub(value, line.synopsis)


def _fields(found: ManualEntry, line: Instruction) -> str:
    rows = [(f"{e.name} {_refs(line, e)}", f"{e.doc} ({e.kind})") for e in found.operands]
    values = {a.name: value_text(a, line.value(a.name)) for a in line.attr_fields}
    rows += [(f"{e.name} = {values[e.name]}", e.doc) for e in found.attributes]
    return _table(rows)


def _refs(line: Instruction, field: FieldEntry) -> str:
    return _listed([str(ref) for ref in line.refs(field.name)])


def _listed(words: list[str]) -> str:
    if len(words) <= _MOST:
        return ", ".join(words)
    return f"{', '.join(words[:_MOST])} and {len(words) - _MOST} more"


def _table(rows: list[tuple[str, str]]) -> str:
    cells = "".join(
        f"<tr><td style='color:{_ink('text2')};padding-right:12px'>"
        f"{_fixed(name)}</td>"
        f"<td>{escape(text)}</td></tr>"
        for name, text in rows
    )
    return f"<table cellspacing='0' cellpadding='1' style='margin-top:6px'>{cells}</table>"


def _code(text: str) -> str:
    return f"<p style='color:{_ink('text')}'>{_fixed(text)}</p>"


def _card(body: str) -> str:
    return f"<div style='color:{_ink('text2')}'>{body}</div>"


def _ink(role: str) -> str:
    return theme.colour(role).name()


def _fixed(text: str) -> str:
    """A text in the fixed-width font, its lines one below the other."""
    escaped = escape(text).replace("\n", "<br>")
    return f"<span style=\"font-family:'{theme.font('mono').family()}'\">{escaped}</span>"
