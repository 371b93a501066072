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
    TensorColumn("register", "Register", "Index in the tensor map.", 11),
    TensorColumn("name", "Name", "Your name for it, and its layer and port.", 28),
    TensorColumn("shape", "Shape", "Dimensions; N is the batch, D the data set.", 14),
    TensorColumn("bytes", "Bytes", "Bytes on the device, padding included.", 10, is_number=True),
    TensorColumn("least", "Min", "Smallest value when last sampled.", 9, is_number=True,
                 is_live=True),
    TensorColumn("greatest", "Max", "Largest value when last sampled.", 9, is_number=True,
                 is_live=True),
    TensorColumn("nan", "NaN", "NaN values when last sampled.", 6, is_number=True,
                 is_live=True),
    TensorColumn("step", "Step", "Training step at which it was last sampled.", 8,
                 is_number=True, is_live=True),
    TensorColumn("role", "Role", "Purpose of the tensor.", 11),
    TensorColumn("lifetime", "Needed", "First and last instruction that use it.", 11),
    TensorColumn("producer", "Written", "First instruction that writes it.", 8, is_number=True),
    TensorColumn("uses", "Uses", "Number of instructions that use it.", 5, is_number=True),
    TensorColumn("place", "Offset", "First byte in the arena.", 9, is_number=True),
    TensorColumn("dtype", "Type", "Element type.", 8),
    TensorColumn("shares", "Shares bytes with",
                 "Registers that reuse its bytes at another time, or are views of it.",
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
