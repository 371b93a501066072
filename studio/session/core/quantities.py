"""Numbers as people read them: bytes, operations and times in three or four digits."""

from __future__ import annotations

_BINARY = ("B", "KiB", "MiB", "GiB", "TiB")
_DECIMAL = ("", "k", "M", "G", "T", "P")
THIN = "\N{THIN SPACE}"
TIMES = "\N{MULTIPLICATION SIGN}"


def bytes_text(nbytes: float) -> str:
    """``36 B``, ``1.25 MiB``: binary units."""
    return _scaled(nbytes, 1024, _BINARY)


def count_text(count: float) -> str:
    """``590``, ``4.72 M``: decimal units."""
    return _scaled(count, 1000, _DECIMAL).rstrip()


def exact_text(count: int) -> str:
    """All digits, in threes: ``131 072``."""
    return f"{count:,}".replace(",", THIN)


def ms_text(milliseconds: float) -> str:
    """Milliseconds with three decimals, fewer from ten on."""
    if milliseconds >= 1000:
        return f"{milliseconds:.0f}"
    if milliseconds >= 100:
        return f"{milliseconds:.1f}"
    return f"{milliseconds:.2f}" if milliseconds >= 10 else f"{milliseconds:.3f}"


def _scaled(value: float, base: int, units: tuple[str, ...]) -> str:
    size, unit = float(value), 0
    # 999.5 would be shown with four digits: it belongs to the next unit.
    while size >= base - 0.5 and unit + 1 < len(units):
        size, unit = size / base, unit + 1
    if unit == 0:
        return f"{size:.0f} {units[0]}"
    digits = 2 if size < 9.995 else 1 if size < 99.95 else 0
    return f"{size:.{digits}f} {units[unit]}"
