"""Drawings become raw rows as the data has them: values, ground, place and size."""

from __future__ import annotations

import numpy as np
import pytest

from studio.engine.core.dtypes import DType
from studio.engine.train.project.data_settings import DataSettings
from studio.session.evaluation.drawing import (
    Drawing,
    Frame,
    Sheet,
    inverted,
    sheet_of,
    stands_inverted,
)

SHEET = Sheet((8, 8, 1), DType.uint8, 0.0, 16.0)


@pytest.fixture(scope="module")
def digits() -> np.ndarray:
    from pathlib import Path

    return np.asarray(DataSettings({"source": "digits"}).open(Path()).x)


def test_nothing_drawn_is_the_ground() -> None:
    row = Drawing(SHEET).row()
    assert row.shape == (1, 8, 8, 1)
    assert row.dtype == np.uint8
    assert not row.any()


def test_full_ink_is_the_inks_value() -> None:
    drawing = Drawing(SHEET)
    drawing.line((0.0, 0.5), (1.0, 0.5), 3.0)
    assert (drawing.row() == 16).all()


def test_a_pixel_is_the_mean_of_what_is_drawn_in_it() -> None:
    drawing = Drawing(SHEET)
    drawing.line((0.3, 0.2), (0.6, 0.9), 0.11)
    assert drawing.fine == 32
    ink = drawing.ink
    expected = np.array(
        [[ink[r * 32 : r * 32 + 32, c * 32 : c * 32 + 32].mean() for c in range(8)]
         for r in range(8)]
    )  # fmt: skip
    np.testing.assert_array_equal(drawing.row()[0, :, :, 0], np.rint(16 * expected))


def test_a_line_is_as_wide_as_it_is_said() -> None:
    drawing = Drawing(SHEET)
    drawing.line((0.5, 0.0), (0.5, 1.0), 0.25)
    middle = drawing.ink[128]
    assert middle.sum() == pytest.approx(0.25 * 256, abs=1.0)
    assert middle[128] == 1.0


def test_a_stroke_can_be_taken_back_and_ink_taken_away() -> None:
    drawing = Drawing(SHEET)
    drawing.begin()
    drawing.line((0.1, 0.1), (0.9, 0.9), 0.1)
    first = drawing.ink.copy()
    drawing.begin()
    drawing.line((0.1, 0.1), (0.9, 0.9), 0.2, erase=True)
    assert drawing.is_empty
    assert drawing.undo()
    np.testing.assert_array_equal(drawing.ink, first)
    drawing.clear()
    assert drawing.is_empty
    assert drawing.undo()
    np.testing.assert_array_equal(drawing.ink, first)
    assert drawing.undo()
    assert drawing.is_empty
    assert not drawing.undo()


def test_strokes_beside_the_sheet_change_nothing() -> None:
    drawing = Drawing(SHEET)
    drawing.line((-3.0, -3.0), (-2.0, -2.0), 0.1)
    drawing.line((5.0, 0.5), (9.0, 0.5), 0.1)
    assert drawing.is_empty


@pytest.mark.parametrize("place", [(0.1, 0.1, 0.3, 0.35), (0.5, 0.4, 0.95, 0.95)])
def test_a_fitted_drawing_fills_the_frame_wherever_it_was_drawn(
    place: tuple[float, float, float, float],
) -> None:
    left, top, right, bottom = place
    sheet = Sheet((16, 16, 1), DType.float32, 0.0, 1.0, Frame(0.125, 0.875, 0.25, 0.75))
    drawing = Drawing(sheet)
    for x in (left, right):
        drawing.line((x, top), (x, bottom), 0.02)
    row = drawing.row()[0, :, :, 0] > 0.02
    rows, columns = np.flatnonzero(row.any(axis=1)), np.flatnonzero(row.any(axis=0))
    height, width = rows[-1] - rows[0] + 1, columns[-1] - columns[0] + 1
    # It reaches the frame's edges in one direction and keeps its proportions in the other.
    assert abs(height - 12) <= 1 or abs(width - 8) <= 1
    assert height <= 13
    assert width <= 9
    assert abs((rows[0] + rows[-1]) / 2 - 7.5) <= 1
    assert abs((columns[0] + columns[-1]) / 2 - 7.5) <= 1
    assert not np.array_equal(drawing.row(fitted=False), drawing.row())


def test_the_sheet_of_digits_is_black_with_ink_of_sixteen(digits: np.ndarray) -> None:
    sheet = sheet_of(digits, (0.0, 16.0), DType.uint8)
    assert sheet is not None
    assert (sheet.ground, sheet.ink) == (0.0, 16.0)
    assert sheet.is_dark
    assert sheet.shape == (8, 8, 1)
    frame = sheet.frame
    assert frame is not None
    # Digits fill their picture from top to bottom and stand in the middle.
    assert frame.top < 0.05
    assert frame.bottom > 0.95
    assert 0.05 < frame.left < 0.35
    assert 0.65 < frame.right < 0.95


def test_dark_ink_on_light_ground_is_recognised(digits: np.ndarray) -> None:
    sheet = sheet_of(16 - digits, (0.0, 16.0), DType.uint8)
    assert sheet is not None
    assert (sheet.ground, sheet.ink) == (16.0, 0.0)
    assert (Drawing(sheet).row() == 16).all()


def test_photographs_have_no_frame(rng: np.random.Generator) -> None:
    photos = rng.integers(0, 256, (50, 12, 10, 3)).astype(np.uint8)
    sheet = sheet_of(photos, (0.0, 255.0), DType.uint8)
    assert sheet is not None
    assert sheet.frame is None
    assert Drawing(sheet).row().shape == (1, 12, 10, 3)


@pytest.mark.parametrize(
    "samples",
    [np.zeros((5, 4)), np.zeros((5, 4, 4, 7)), np.zeros((0, 4, 4, 1)), np.zeros((5, 4, 4, 1))],
    ids=["table", "channels", "none", "constant"],
)
def test_what_is_no_picture_has_no_sheet(samples: np.ndarray) -> None:
    assert sheet_of(samples, None, DType.float32) is None


# -- inverted images ----------------------------------------------------------------------------


def test_an_image_with_ground_and_ink_exchanged_is_found(digits: np.ndarray) -> None:
    sheet = sheet_of(digits, (0.0, 16.0), DType.uint8)
    assert sheet is not None
    assert sheet.knows_ground
    turned = (16 - digits).astype(np.uint8)
    assert not stands_inverted(digits, sheet).any()
    assert stands_inverted(turned, sheet).all()
    mixed = np.concatenate([digits[:2], turned[2:4]])
    flags = stands_inverted(mixed, sheet)
    assert flags.tolist() == [False, False, True, True]
    np.testing.assert_array_equal(inverted(mixed, flags, sheet), digits[:4])


def test_light_ground_of_the_data_is_found_likewise(digits: np.ndarray) -> None:
    light = (255 - digits.astype(np.int64) * 15).astype(np.uint8)
    sheet = sheet_of(light, (0.0, 255.0), DType.uint8)
    assert sheet is not None
    assert not sheet.is_dark
    dark = 255 - light
    assert stands_inverted(dark, sheet).all()
    # In bytes 255 + 0 - x must not wrap.
    np.testing.assert_array_equal(inverted(dark, np.ones(len(dark), bool), sheet), light)


def test_photographs_say_nothing_about_their_ground(rng: np.random.Generator) -> None:
    photos = rng.integers(0, 256, (40, 12, 12, 3)).astype(np.uint8)
    sheet = sheet_of(photos, (0.0, 255.0), DType.uint8)
    assert sheet is not None
    assert not sheet.knows_ground
    assert not stands_inverted(np.full((1, 12, 12, 3), 255, np.uint8), sheet).any()
