"""Options put under headings, those looked for most first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from studio.ui.models.option_fields import Row


@dataclass(frozen=True)
class OptionSection:
    """Options that stand together.

    Attributes:
        title: their heading.
        rows: the options.
        is_open: whether they are shown unfolded from the start.
    """

    title: str
    rows: tuple[Row, ...]
    is_open: bool = True

    @property
    def changed(self) -> int:
        """How many are not default and could be."""
        return sum(not row.is_default and not row.field.required for row in self.rows)


def layer_sections(rows: Sequence[Row]) -> tuple[OptionSection, ...]:
    """Options of layers: those of its own, how weights begin, penalties, and what is fixed."""
    groups: dict[str, list[Row]] = {name: [] for name in _LAYER_TITLES}
    for row in rows:
        groups[_layer_group(row)].append(row)
    return tuple(
        OptionSection(title, tuple(groups[title]), is_open)
        for title, is_open in _LAYER_TITLES.items()
        if groups[title]
    )


_LAYER_TITLES: Mapping[str, bool] = {
    "Options": True,
    "Initial values": False,
    "Penalties": False,
    "Fixed": False,
}


def _layer_group(row: Row) -> str:
    name, field = row.field.name, row.field
    if name.endswith("_initializer"):
        return "Initial values"
    if name.endswith("_regularizer"):
        return "Penalties"
    fixed = field.low == field.high or len(field.choices) == 1
    return "Fixed" if fixed else "Options"


_TRAINING: Mapping[str, tuple[str, ...]] = {
    "Training": ("epochs", "batch_size", "seed", "shuffle"),
    "Optimiser": ("optimizer",),
    "Loss and metrics": ("loss", "metrics", "class_weights"),
    "Validation": ("validation", "validation_fraction"),
    "Stopping": ("early_stopping", "stop_on_nan", "callbacks"),
    "Checkpoints": ("checkpoints",),
    "Program": ("level", "data_budget"),
}
_OPEN = ("Training", "Optimiser")


def training_sections(rows: Sequence[Row]) -> tuple[OptionSection, ...]:
    """The training settings under their headings."""
    by_name = {row.field.name: row for row in rows}
    apart = by_name["validation"].value in ("tail", "random")
    found = []
    for title, names in _TRAINING.items():
        shown = [by_name[n] for n in names if n != "validation_fraction" or apart]
        found.append(OptionSection(title, tuple(shown), title in _OPEN))
    return tuple(found)
