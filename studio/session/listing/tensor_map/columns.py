"""The columns of the tensor table: what stands in them and what they are sorted by."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple, TypeAlias

from studio.session.core.quantities import bytes_text
from studio.session.listing.tensor_map.rows import TensorRow

TensorColumnKey: TypeAlias = Literal[
    "register", "name", "shape", "dtype", "bytes", "role", "producer", "uses", "lifetime",
    "place", "shares", "least", "greatest", "nan", "step",
]  # fmt: skip


class Extremes(NamedTuple):
    """What was last seen of a tensor's numbers.

    Attributes:
        least: smallest finite number; None where there is none.
        greatest: largest finite number; None where there is none.
        nan: how many are NaN.
        step: the training step at which it was looked at.
    """

    least: float | None
    greatest: float | None
    nan: int
    step: int


class TensorColumn(NamedTuple):
    """One column.

    Attributes:
        key: its identity.
        title: its heading.
        tip: what it says.
        chars: width in characters at most; it is narrower where all it says is.
        is_number: right-aligned.
        is_live: known only while the tensor is looked at.
    """

    key: TensorColumnKey
    title: str
    tip: str
    chars: int
    is_number: bool = False
    is_live: bool = False


# In order of how often they are wanted: what is right of the edge has to be scrolled to.
TENSOR_COLUMNS: tuple[TensorColumn, ...] = (
    TensorColumn("register", "Register", "Place in the tensor map.", 11),
    TensorColumn("name", "Name", "What you call it, and the layer and port it is.", 28),
    TensorColumn("shape", "Shape", "Dimensions; N is the batch, D the data set.", 14),
    TensorColumn("bytes", "Bytes", "Bytes on the device, halo included.", 10, is_number=True),
    TensorColumn("least", "Min", "Smallest number when last looked at.", 9, is_number=True,
                 is_live=True),
    TensorColumn("greatest", "Max", "Largest number when last looked at.", 9, is_number=True,
                 is_live=True),
    TensorColumn("nan", "NaN", "How many were NaN when last looked at.", 6, is_number=True,
                 is_live=True),
    TensorColumn("step", "Seen at", "Training step after which it was last looked at.", 8,
                 is_number=True, is_live=True),
    TensorColumn("role", "Role", "What it is for.", 11),
    TensorColumn("lifetime", "Needed", "First and last instruction that need it.", 11),
    TensorColumn("producer", "Written", "First instruction that writes it.", 8, is_number=True),
    TensorColumn("uses", "Uses", "How many instructions touch it.", 5, is_number=True),
    TensorColumn("place", "Offset", "First byte in the arena.", 9, is_number=True),
    TensorColumn("dtype", "Type", "Type of its numbers.", 8),
    TensorColumn("shares", "Shares bytes with",
                 "Registers that have some of its bytes at another time, or all of them always.",
                 24),
)  # fmt: skip


def tensor_cell(
    row: TensorRow, key: TensorColumnKey, seen: Extremes | None = None, alias: str = ""
) -> str:
    """What stands in a cell; ``alias`` is what a person calls the tensor."""
    if key in ("least", "greatest", "nan", "step"):
        return "" if seen is None else _live_cell(seen, key)
    if key == "register":
        return str(row.ref)
    if key == "name":
        return f"{alias} ({row.key})" if alias else row.key
    if key == "bytes":
        return "" if row.nbytes is None else bytes_text(row.nbytes)
    if key == "producer":
        return "" if row.producer is None else f"#{row.producer}"
    if key == "uses":
        return str(len(row.uses))
    if key == "lifetime":
        return "kept" if row.kept else _span_text(row)
    if key == "place":
        return "" if row.offset is None else f"{row.offset:#x}"
    if key == "shares":
        return _shares_text(row)
    return {"shape": row.shape, "dtype": row.dtype, "role": row.role}[key]


def tensor_order(
    row: TensorRow, key: TensorColumnKey, seen: Extremes | None = None, alias: str = ""
) -> tuple[float, str]:
    """What rows are sorted by in a column; rows without a number come last."""
    if key in ("least", "greatest", "nan", "step"):
        number = None if seen is None else getattr(seen, key)
    elif key in _NUMBERS:
        number = _NUMBERS[key](row)
    else:
        return (0.0, tensor_cell(row, key, alias=alias))
    return (float("inf") if number is None else float(number), row.key)


_NUMBERS: dict[str, Callable[[TensorRow], float | None]] = {
    "register": lambda row: 2 * row.ref.id + row.ref.grad,
    "bytes": lambda row: row.nbytes,
    "producer": lambda row: row.producer,
    "uses": lambda row: len(row.uses),
    "lifetime": lambda row: None if row.lifetime is None else row.lifetime.first,
    "place": lambda row: row.offset,
    "shares": lambda row: len(row.shares),
}


def _span_text(row: TensorRow) -> str:
    return "" if row.lifetime is None else f"{row.lifetime.first} to {row.lifetime.last}"


def _shares_text(row: TensorRow) -> str:
    if row.view_of is not None:
        return f"view of {row.view_of}"
    return ", ".join(str(ref) for ref in row.shares)


def _live_cell(seen: Extremes, key: TensorColumnKey) -> str:
    if key in ("nan", "step"):
        return str(seen.nan if key == "nan" else seen.step)
    number = seen.least if key == "least" else seen.greatest
    return "" if number is None else f"{number:.4g}"
