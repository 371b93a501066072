"""Turns an instruction's attributes into constants of its kernel."""

from __future__ import annotations

from studio.engine.core.options import OptionKind
from studio.engine.gl.shader.glsl_text import float_literal, int_literal
from studio.engine.isa.instruction import Instruction

ZERO = "RUNTIME_ZERO"
"""Zero that the compiler cannot see: a literal would make it fold NaN times 0 to 0."""


def attribute_literal(kind: OptionKind, value: object) -> str:
    """A scalar attribute as a GLSL expression."""
    if kind is OptionKind.NUMBER and isinstance(value, float):
        return ZERO if value == 0.0 else float_literal(value)
    if kind in (OptionKind.INTEGER, OptionKind.FLAG) and isinstance(value, int):
        return int_literal(int(value))
    raise ValueError(f"{kind} has no GLSL literal")


def attribute_constants(ins: Instruction) -> str:
    """All attributes as constants of their own names.

    Numbers and flags are constants (flags also macros, in capitals); of a choice every word is a
    macro ``NAME_WORD`` and ``NAME`` is the chosen one; a list is an array and a macro ``NAME_LEN``.
    """
    lines = []
    for attr in ins.attr_fields:
        name, value = attr.name, ins.value(attr.name)
        up = name.upper()
        match attr.kind:
            case OptionKind.INTEGER:
                lines.append(f"const int {name} = {int_literal(value)};")
            case OptionKind.NUMBER:
                lines.append(f"#define {name} {attribute_literal(attr.kind, value)}")
            case OptionKind.FLAG:
                lines.append(f"#define {up} {int(value)}")
            case OptionKind.CHOICE:
                lines += [f"#define {up}_{word.upper()} {k}" for k, word in enumerate(attr.choices)]
                lines.append(f"#define {up} {attr.choices.index(value)}")
            case OptionKind.INTEGERS:
                lines += _array(name, value)
            case OptionKind.NAMES:
                pass
    return "\n".join(lines)


def _array(name: str, values: tuple[int, ...]) -> list[str]:
    listed = ", ".join(int_literal(v) for v in values) or "0"
    size = max(len(values), 1)
    return [
        f"#define {name.upper()}_LEN {len(values)}",
        f"const int {name}[{size}] = int[{size}]({listed});",
    ]
