"""Text labels to class indices, however many there are."""

from __future__ import annotations

import numpy as np

from studio.engine.train.data.labels import index_classes


def test_labels_of_a_large_table_are_indexed_block_by_block() -> None:
    """Not in one go, for which every other thread would wait."""

    class Watched(list[str]):
        longest = 0

        def __getitem__(self, at):  # type: ignore[no-untyped-def]
            found = super().__getitem__(at)
            if isinstance(at, slice):
                Watched.longest = max(Watched.longest, len(found))
            return found

        def __iter__(self):  # type: ignore[no-untyped-def]
            raise AssertionError("gone through in one go")

    drawn = np.random.default_rng(3).integers(0, 12, 300_000)
    found = index_classes(Watched(map(str, drawn.tolist())), range(len(drawn)), "t.csv")
    assert found.class_names == tuple(str(i) for i in range(12))
    np.testing.assert_array_equal(found.y, drawn)
    assert found.y.dtype == np.int32
    assert Watched.longest * 4 < len(drawn)
