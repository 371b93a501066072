"""Rows of the kernel table, sorted and filtered."""

from __future__ import annotations

import pytest

from studio.session.core.record_order import in_order, sortable
from studio.session.profiling.columns import BY_ID, COLUMNS, RowFilter


@pytest.mark.parametrize("column", [column.id for column in COLUMNS])
@pytest.mark.parametrize("descending", [True, False])
def test_rows_sort_by_any_column_unknown_ones_last(column: str, descending: bool) -> None:
    value = BY_ID[column].value
    rows = in_order(_rows(), lambda row: sortable(value(row)), descending=descending)
    found = [value(row) for row in rows]
    known = [v for v in found if v is not None]
    assert found == [*known, *[None] * (len(found) - len(known))]
    lowered = [v.casefold() if isinstance(v, str) else v for v in known]
    assert lowered == sorted(lowered, reverse=descending)


def test_a_filter_takes_text_section_and_a_choice() -> None:
    rows = _rows()
    assert RowFilter().apply(rows) == rows
    assert RowFilter().is_open
    forward = RowFilter(section="forward").apply(rows)
    assert forward
    assert {row.section for row in forward} == {"forward"}
    assert {r.layers for r in RowFilter(text="conv1 grads").apply(rows)} == {"conv1"}
    chosen = RowFilter(chosen={rows[1].id}).apply(rows)
    assert chosen == (rows[1],)
    assert not RowFilter(chosen=set()).is_open


@pytest.mark.parametrize(("percentile", "kept"), [(0, 4), (1, 3), (40, 2), (80, 1), (100, 1)])
def test_a_percentile_hides_the_fast_kernels(percentile: int, kept: int) -> None:
    rows = _rows()
    found = RowFilter(percentile=percentile).apply(rows)
    slowest = sorted(rows, key=lambda row: -row.share)[:kept]
    assert {row.id for row in found} == {row.id for row in slowest}
    assert RowFilter(percentile=percentile).is_open == (percentile == 0)
    # The others count for the percentile, whatever else is filtered.
    assert RowFilter(percentile=percentile, text="no such kernel").apply(rows) == ()
    assert RowFilter(percentile=percentile).apply(()) == ()


def _rows() -> tuple:
    from tests.session.profiling.test_kernel_rows import PEAKS, collected

    return collected([[80.0, 20.0, 30.0, 100.0, 5.0]]).rows(peaks=PEAKS)
