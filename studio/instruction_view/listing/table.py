"""The lines of a listing as columns: texts for searches and screen readers, and headings."""

from __future__ import annotations

from studio.session.listing.arrangement import Line
from studio.session.listing.columns import COLUMNS, cell_text, title_of
from studio.session.listing.columns import Column as ListingColumn
from studio.session.listing.listing import Listing
from studio.widgets.record_table.columns import Column

GUTTER = 0
"""The first column: colour band, marks, folding."""

FIRST = 1
"""Column of the first of `COLUMNS`."""


def columns_of(listing: Listing) -> tuple[Column[Line], ...]:
    """The gutter, and the columns with the headings they have at the level shown now."""

    def spoken(line: Line) -> str:
        return ", ".join(band.name for band in listing.bands(line) if band.name)

    gutter: Column[Line] = Column(
        "gutter", "", lambda _: "", name="Origin", spoken=spoken, is_fixed=True
    )
    return (gutter, *(_column(listing, column) for column in COLUMNS))


def _column(listing: Listing, column: ListingColumn) -> Column[Line]:
    return Column(
        column.key, title_of(column, listing.level),
        lambda line: cell_text(listing, line, column.key), tip=column.tip, name=column.title,
        is_number=column.is_number, is_shown=column.is_shown,
        is_fixed=column.key == "instruction",
    )  # fmt: skip
