"""Options put under headings, those looked for most first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from studio.session.core.option_rows import Row


@dataclass(frozen=True)
class OptionGroup:
    """Options of a section that belong to one thing.

    Attributes:
        title: name of that thing.
        rows: the options.
        heading: what stands above them.
    """

    title: str
    rows: tuple[Row, ...]
    heading: str


@dataclass(frozen=True)
class OptionSection:
    """Options that stand together.

    Attributes:
        title: their heading.
        rows: the options.
        is_open: whether they are shown unfolded from the start.
        groups: further options below, each group under a heading of its own.
    """

    title: str
    rows: tuple[Row, ...]
    is_open: bool = True
    groups: tuple[OptionGroup, ...] = ()

    @property
    def changed(self) -> int:
        """How many are not default and could be."""
        rows = (*self.rows, *(row for group in self.groups for row in group.rows))
        return sum(not row.is_default and not row.option.required for row in rows)


_OPEN_GROUPS = ("Options", "Constants")
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
        OptionSection(title, tuple(found), title in _OPEN_GROUPS)
        for title, found in groups.items()
        if found
    )


_OPEN = ("Training", "Optimiser")
_OF_OUTPUTS = "Loss and metrics"
_APART = ("tail", "random")


def training_sections(
    rows: Sequence[Row], outputs: Sequence[OptionGroup] = ()
) -> tuple[OptionSection, ...]:
    """The training settings under their headings.

    Args:
        rows: settings of the whole network.
        outputs: settings of each output, where there are several.
    """
    validation = next(row.value for row in rows if row.option.name == "validation")
    sections: dict[str, list[Row]] = {}
    for row in rows:
        if row.option.group == "Validation" and outputs:
            sections.setdefault(_OF_OUTPUTS, [])
        if row.option.name != "validation_fraction" or validation in _APART:
            sections.setdefault(row.option.group, []).append(row)
    return tuple(
        OptionSection(
            title, tuple(found), title in _OPEN, tuple(outputs) if title == _OF_OUTPUTS else ()
        )
        for title, found in sections.items()
    )
