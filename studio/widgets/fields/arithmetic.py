"""Evaluates what is typed into a number field: plain arithmetic and nothing else."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable

from studio.engine.core.errors import ParameterError

_BINARY: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_LONGEST = 200
_LARGEST_POWER = 64


def evaluate(text: str, current: float = 0.0) -> float:
    """The value of an expression such as ``16*3``, ``1e-3``, ``2**5`` or ``25%``.

    One that begins with ``*``, ``/`` or ``+=``, ``-=`` changes the current value: ``*2`` doubles
    it.

    Args:
        text: what was typed.
        current: the value the field has.

    Raises:
        ParameterError: it is no number, or not a finite one.
    """
    cleaned = text.replace("\u202f", "").replace("\u2212", "-").replace("\u00d7", "*").strip()
    cleaned = cleaned.replace("^", "**")
    if cleaned.count(",") == 1 and "." not in cleaned:
        # A decimal comma; thousands are never set apart by one here.
        cleaned = cleaned.replace(",", ".")
    if not cleaned or len(cleaned) > _LONGEST:
        raise ParameterError("expected a number")
    if cleaned[:2] in ("+=", "-="):
        cleaned = f"({current!r}){cleaned[0]}({cleaned[2:]})"
    elif cleaned[0] in "*/":
        cleaned = f"({current!r}){cleaned}"
    if cleaned.endswith("%"):
        cleaned = f"({cleaned[:-1]})/100"
    try:
        found = _value(ast.parse(cleaned, mode="eval").body)
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        raise ParameterError(f"expected a number, got {text.strip()[:40]!r}") from None
    except (ZeroDivisionError, OverflowError):
        raise ParameterError(f"{text.strip()[:40]} has no finite value") from None
    if not math.isfinite(found):
        raise ParameterError(f"{text.strip()[:40]} has no finite value")
    return found


def _value(node: ast.expr) -> float:
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return node.value  # type: ignore[return-value]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        inner = _value(node.operand)
        return -inner if isinstance(node.op, ast.USub) else inner
    if isinstance(node, ast.BinOp):
        left, right = _value(node.left), _value(node.right)
        if isinstance(node.op, ast.Pow):
            # A tower of powers could fill the memory before anyone sees the result.
            if abs(right) > _LARGEST_POWER or abs(left) > 1e9:
                raise OverflowError
            if left < 0 and not float(right).is_integer():
                raise ValueError
            return float(left**right)
        if type(node.op) in _BINARY:
            return _BINARY[type(node.op)](left, right)
    raise ValueError
