"""Undoable steps that map parts of the document's data to inputs and outputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from studio.engine.core.options import Plain
from studio.session.data.mapping import (
    Ends,
    Side,
    SourcePart,
    ends_of,
    mapped_by_name,
    with_end_option,
    with_use,
    without_use,
)
from studio.session.data.sources import reference_of
from studio.session.document.document import Document


class MappedData(Protocol):
    """What a mapping needs of the data it is of."""

    parts: tuple[SourcePart, ...]

    @property
    def data(self) -> dict[str, Plain]:
        """The data section as plain data."""

    def attach(self, reference: Mapping[str, Plain], text: str = ..., merge_key: str = ...) -> None:
        """Use another source with its options; one undo step."""


class PartMapping:
    """Which parts of the source go where; every change is one undo step.

    Args:
        data: the data of the document.
        document: gives the document.
    """

    def __init__(self, data: MappedData, document: Callable[[], Document]) -> None:
        self._data = data
        self._document = document

    @property
    def ends(self) -> Ends:
        """Inputs and outputs of the network."""
        return ends_of(self._document().state)

    def use(self, part: SourcePart, side: Side, name: str, *, used: bool = True) -> None:
        """Give a part of the source to an input or output, or take it away."""
        made = with_use(reference_of(self._data.data), part, side, name, used=used)
        self._data.attach(made, f"Map {part.key}")

    def leave_out(self, part: SourcePart) -> None:
        """Give a part of the source to no input and no output."""
        made = without_use(reference_of(self._data.data), part.key)
        self._data.attach(made, f"Leave out {part.key}")

    def map_by_name(self) -> None:
        """Give every part to the input or output of its name."""
        made = mapped_by_name(reference_of(self._data.data), self._data.parts, self.ends)
        self._data.attach(made, "Map by name")

    def set_option(self, option: str, value: object, merge_key: str = "") -> None:
        """Change an option of an input or output; raises what `with_end_option` raises."""
        made = with_end_option(reference_of(self._data.data), option, value)
        text = f"Change {option.partition(':')[0].replace('_', ' ')}"
        self._data.attach(made, text, merge_key)
