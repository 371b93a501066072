"""What counts as the same picture, and what must not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from tests.ui.golden import audit, comparison
from tests.ui.golden.audit import Sitting
from tests.ui.golden.comparison import Pixels

GROUND, INK = (27, 30, 36), (230, 233, 239)


def drawn(
    text: str = "conv2/kernel", at: tuple[float, float] = (20, 20), ground: object = GROUND
) -> Pixels:
    """A pane-like picture: a frame, a line and some text."""
    image = Image.new("RGB", (400, 300), ground)
    pen = ImageDraw.Draw(image)
    pen.rectangle((10, 10, 389, 60), outline=(61, 68, 80))
    pen.text(at, text, INK, ImageFont.load_default(13))
    return np.asarray(image)


def test_a_picture_is_the_same_as_itself() -> None:
    found = comparison.compare(drawn(), drawn())
    assert found.is_same
    assert (found.tinted, found.shaped) == (0.0, 0.0)


def test_edges_smoothed_a_little_otherwise_are_the_same(rng: np.random.Generator) -> None:
    picture = drawn().astype(np.int16)
    edges = (picture != np.array(GROUND)).any(axis=2)
    noise = rng.integers(-14, 15, edges.shape) * edges
    other = np.clip(picture + noise[:, :, None], 0, 255).astype(np.uint8)
    assert comparison.compare(drawn(), other).is_same


@pytest.mark.parametrize(
    "other",
    [
        drawn("conv3/kernel-of-it"),
        drawn(at=(20, 24)),
        drawn(""),
        drawn(ground=(32, 30, 36)),
        drawn(ground=(243, 244, 247)),
    ],
    ids=["other-text", "moved", "no-text", "tint", "ground"],
)
def test_what_a_person_would_see_is_found(other: Pixels) -> None:
    assert not comparison.compare(drawn(), other).is_same


def test_another_size_is_said() -> None:
    found = comparison.compare(drawn(), drawn()[:, :300])
    assert not found.is_same
    assert str(found) == "expected 400 by 300 pixels, found 300 by 300"


def test_one_small_thing_gone_from_a_large_window_is_found() -> None:
    large = np.full((1000, 1600, 3), GROUND, np.uint8)
    with_icon = large.copy()
    with_icon[100:140, 200:240] = INK
    assert not comparison.compare(with_icon, large).is_same


@pytest.mark.slow
def test_stored_pictures_keep_their_areas_and_come_near_elsewhere(
    tmp_path: Path, rng: np.random.Generator
) -> None:
    picture = drawn().copy()
    ramp = np.linspace(0, 255, 150, dtype=np.uint8)
    picture[100:250, 50:200, 0], picture[100:250, 50:200, 1] = ramp, ramp[:, None]
    comparison.write_small(tmp_path / "small.png", picture)
    with Image.open(tmp_path / "small.png") as image:
        assert image.mode == "P"
    back = comparison.read(tmp_path / "small.png")
    assert (back[260:] == picture[260:]).all()
    assert np.abs(back.astype(int) - picture).max() < 40
    found = comparison.compare(picture, back)
    assert found.shaped == 0.0


def store(folder: Path, name: str, picture: Pixels) -> None:
    comparison.write(folder / "dark-100" / f"{name}.png", picture)


@pytest.mark.slow
def test_pictures_that_are_new_or_gone_are_found_and_taken_over(tmp_path: Path) -> None:
    stored, taken, sitting = tmp_path / "stored", tmp_path / "taken", Sitting("dark", 100)
    store(stored, "same", drawn())
    store(stored, "gone", drawn())
    store(stored, "other", drawn())
    store(taken, "same", drawn())
    store(taken, "fresh", drawn())
    store(taken, "other", drawn("pool"))
    findings = audit.look(sitting, taken, stored)
    assert {each.name: str(each.measured) for each in findings if each.measured.problem} == {
        "dark-100/fresh": "there is no stored picture",
        "dark-100/gone": "it was not taken",
    }
    assert [each.name for each in findings if each.measured.is_same] == ["dark-100/same"]
    page = audit.write_page(findings, taken).read_text()
    assert "3 of 4 pictures differ" in page
    assert page.index("dark-100/other: DIFFERS") < page.index("dark-100/same: same")
    assert audit.update(findings) == ["dark-100/fresh", "dark-100/gone", "dark-100/other"]
    assert all(each.measured.is_same for each in audit.look(sitting, taken, stored))
