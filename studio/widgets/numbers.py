"""Numbers as people read them: few digits, prefixes, thin spaces; the exact ones for tips."""

from __future__ import annotations

import math

THIN = "\u202f"
"""Separates thousands and units, and never breaks a line."""

MINUS = "\u2212"
DASH = "\u2013"
"""Stands where there is no number."""

_LARGE = ("", "k", "M", "G", "T", "P")
_SMALL = ("", "m", "µ", "n", "p")
_BINARY = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")


def number(value: float | None, digits: int = 4) -> str:
    """A plain number with at most ``digits`` significant digits: ``0.03125``, ``1.2e-5``."""
    odd = _odd(value)
    if value is None or odd:
        return odd
    if value == 0:
        return "0"
    size = abs(value)
    if size < 1e-4 or size >= 1e7:
        mantissa, _, exponent = f"{size:.{digits - 1}e}".partition("e")
        text = f"{_trim(mantissa)}e{int(exponent)}"
    else:
        text = _trim(_fixed(size, digits))
    return MINUS + text if value < 0 else text


def count(value: int | None) -> str:
    """A count with its thousands set apart: ``61 706``."""
    if value is None:
        return DASH
    text = f"{abs(value):,}".replace(",", THIN)
    return MINUS + text if value < 0 else text


def counted(value: int, noun: str, many: str = "") -> str:
    """A count and of what: ``1 sample``, ``2 samples``.

    Args:
        value: how many.
        noun: what one of them is called.
        many: what others are called, where that is not the noun with an s.
    """
    return f"{count(value)} {noun if value == 1 else many or f'{noun}s'}"


def quantity(value: float | None, unit: str = "", digits: int = 3) -> str:
    """A number with an SI prefix: ``61.7 k``, ``3.1 ms``, ``2.05 TB/s``."""
    odd = _odd(value)
    if value is None or odd:
        return odd
    size, step = abs(value), 0
    prefix = ""
    if size >= 1:
        while _rounded(size, digits) >= 1000 and step < len(_LARGE) - 1:
            size, step = size / 1000, step + 1
        prefix = _LARGE[step]
    elif size > 0 and unit:
        while _rounded(size, digits) < 1 and step < len(_SMALL) - 1:
            size, step = size * 1000, step + 1
        prefix = _SMALL[step]
    text = _trim(_fixed(size, digits)) if size else "0"
    sign = MINUS if value < 0 else ""
    tail = f"{prefix}{unit}"
    return f"{sign}{text}{THIN}{tail}" if tail else f"{sign}{text}"


def memory(value: int | None) -> str:
    """A number of bytes: ``48 MiB``."""
    if value is None:
        return DASH
    size, step = float(abs(value)), 0
    while _rounded(size, 3) >= 1024 and step < len(_BINARY) - 1:
        size, step = size / 1024, step + 1
    text = str(int(size)) if step == 0 else _trim(_fixed(size, 3))
    return f"{MINUS if value < 0 else ''}{text}{THIN}{_BINARY[step]}"


def duration(seconds: float | None) -> str:
    """A time: ``0.42 ms``, ``3.1 s``, ``2 min 5 s``, ``1 h 12 min``."""
    odd = _odd(seconds)
    if seconds is None or odd:
        return odd
    if seconds < 0:
        return MINUS + duration(-seconds)
    if seconds == 0:
        return f"0{THIN}s"
    if seconds < 1:
        unit = "ms" if seconds >= 1e-4 else "µs"
        scaled = seconds * (1e3 if unit == "ms" else 1e6)
        return f"{_trim(_fixed(scaled, 3))}{THIN}{unit}"
    if seconds < 59.95:
        return f"{_trim(_fixed(seconds, 3))}{THIN}s"
    whole = round(seconds)
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes}{THIN}min" + (f" {rest}{THIN}s" if rest else "")
    hours, minutes = divmod(minutes, 60)
    return f"{hours}{THIN}h" + (f" {minutes}{THIN}min" if minutes else "")


def share(value: float | None, digits: int = 3) -> str:
    """A part of the whole in per cent: ``31.2 %``."""
    odd = _odd(value)
    if value is None or odd:
        return odd
    if 0 < abs(value) < 5e-5:
        return f"<{THIN}0.01{THIN}%"
    return f"{number(value * 100, digits)}{THIN}%"


def exact(value: float | None) -> str:
    """Every digit there is, for tips and copies."""
    odd = _odd(value)
    if value is None or odd:
        return odd
    return repr(value)


def _odd(value: float | None) -> str:
    """What is said instead of a number, or nothing for a finite one."""
    if value is None:
        return DASH
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "∞" if value > 0 else f"{MINUS}∞"
    return ""


def _rounded(size: float, digits: int) -> float:
    """The size as `_fixed` shows it."""
    return float(_fixed(size, digits))


def _fixed(size: float, digits: int) -> str:
    """A positive number without exponent, rounded to so many significant digits."""
    if size == 0:
        return "0"
    before = math.floor(math.log10(size)) + 1
    places = max(0, digits - before)
    text = f"{size:.{places}f}"
    # Rounding may have made one digit more, as 9.996 becomes 10.00.
    if places and len(text.replace(".", "").lstrip("0")) > digits:
        text = f"{size:.{places - 1}f}"
    return text


def _trim(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text else text
