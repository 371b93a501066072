"""Options put under headings, those looked for most first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from studio.session.core.option_rows import Row


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
        return sum(not row.is_default and not row.option.required for row in self.rows)


_LAYER_GROUPS = ("Options", "Initial values", "Regularisation", "Read-only")


def layer_sections(rows: Sequence[Row]) -> tuple[OptionSection, ...]:
    """Options of layers: those of its own, how weights begin, penalties, and what is fixed."""
    own, *_, fixed = _LAYER_GROUPS
    groups: dict[str, list[Row]] = {title: [] for title in _LAYER_GROUPS}
    for row in rows:
        option = row.option
        title = option.group or (fixed if option.is_fixed else own)
        groups.setdefault(title, []).append(row)
    return tuple(
        OptionSection(title, tuple(found), title == own) for title, found in groups.items() if found
    )


_OPEN = ("Training", "Optimiser")
_APART = ("tail", "random")


def training_sections(rows: Sequence[Row]) -> tuple[OptionSection, ...]:
    """The training settings under their headings."""
    validation = next(row.value for row in rows if row.option.name == "validation")
    groups: dict[str, list[Row]] = {}
    for row in rows:
        if row.option.name != "validation_fraction" or validation in _APART:
            groups.setdefault(row.option.group, []).append(row)
    return tuple(
        OptionSection(title, tuple(found), title in _OPEN) for title, found in groups.items()
    )
