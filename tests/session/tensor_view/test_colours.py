"""Colour maps measured with colour science written out here, and colours of single numbers."""

from __future__ import annotations

import numpy as np
import pytest

from studio.engine.gl.live.painter import PALETTE as SHADER_PALETTE
from studio.engine.gl.live.painter import SPECIAL as SHADER_SPECIAL
from studio.engine.runtime.live_sheet import Pick, Sheet, draw
from studio.session.core.theme import PALETTES
from studio.session.tensor_view.colours import (
    MINUS,
    NAN,
    OVER,
    PALETTE,
    PLUS,
    SPECIAL,
    UNDER,
    MapName,
    colour_map,
    coloured,
    entries,
    palette,
    shades,
)
from tests.session.colour_vision import DEFICIENCIES, lab

MAPS: tuple[MapName, ...] = ("sequential", "diverging")


def linear(rgb: np.ndarray) -> np.ndarray:
    v = rgb / 255.0
    return np.where(v <= 0.04045, v / 12.92, ((v + 0.055) / 1.055) ** 2.4)


def cielab(rgb: np.ndarray) -> np.ndarray:
    """CIELAB (D65) of sRGB bytes."""
    matrix = np.array(
        [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750],
         [0.0193339, 0.1191920, 0.9503041]]
    )  # fmt: skip
    xyz = linear(rgb) @ matrix.T / np.array([0.95047, 1.0, 1.08883])
    f = np.where(xyz > 216 / 24389, np.cbrt(xyz), (24389 / 27 * xyz + 16) / 116)
    return np.stack(
        [116 * f[:, 1] - 16, 500 * (f[:, 0] - f[:, 1]), 200 * (f[:, 1] - f[:, 2])], axis=1
    )


def deficient(rgb: np.ndarray, matrix: list[list[float]]) -> np.ndarray:
    seen = np.clip(linear(rgb) @ np.array(matrix).T, 0, 1)
    curved = np.where(seen <= 0.0031308, 12.92 * seen, 1.055 * seen ** (1 / 2.4) - 0.055)
    return curved * 255


# Machado, Oliveira and Fernandes 2009, full severity.
PROTAN = [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
          [-0.003882, -0.048116, 1.051998]]  # fmt: skip
DEUTAN = [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
          [-0.011820, 0.042940, 0.968881]]  # fmt: skip


@pytest.mark.parametrize("name", MAPS)
def test_steps_of_a_map_are_perceptually_even(name: MapName) -> None:
    path = cielab(colour_map(name).astype(float))
    steps = np.linalg.norm(np.diff(path[::15], axis=0), axis=1)
    assert steps.max() / steps.min() < 2.2
    assert len(np.unique(colour_map(name), axis=0)) > 240


def test_the_sequential_map_grows_lighter_all_the_way() -> None:
    light = cielab(colour_map("sequential").astype(float))[:, 0]
    assert (np.diff(light[::4]) > 0).all()
    assert light[0] < 20
    assert light[-1] > 90
    straight = np.linspace(light[0], light[-1], 256)
    assert np.abs(light - straight).max() < 6


def test_the_diverging_map_has_a_neutral_middle_and_two_like_arms() -> None:
    lab = cielab(colour_map("diverging").astype(float))
    assert np.hypot(*lab[128, 1:]) < 1
    assert (np.diff(lab[:129:8, 0]) > 0).all()
    assert (np.diff(lab[128::8, 0]) < 0).all()
    chroma = np.hypot(lab[:, 1], lab[:, 2])
    assert chroma[0] > 35
    assert chroma[-1] > 35
    assert lab[0, 2] < -30  # blue
    assert lab[-1, 2] > 30  # orange


@pytest.mark.parametrize("matrix", [PROTAN, DEUTAN], ids=["protan", "deutan"])
def test_the_arms_differ_for_people_who_see_red_and_green_alike(matrix: list[list[float]]) -> None:
    seen = cielab(deficient(colour_map("diverging").astype(float), matrix))
    for k in range(1, 9):
        one, other = seen[128 - 15 * k], seen[128 + 15 * k - 1]
        assert np.linalg.norm(one - other) > 5 * k


@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize("mark", ["under", "over", "nan"])
def test_marks_are_no_colours_of_a_map(name: MapName, mark: str) -> None:
    colours = palette(name)
    lab = cielab(colours[:256, :3].astype(float))
    found = cielab(colours[256 + SPECIAL.index(mark), :3][None].astype(float))
    assert np.linalg.norm(lab - found, axis=1).min() > 15


@pytest.mark.parametrize("vision", DEFICIENCIES)
@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize("mode", ["dark", "light"])
def test_no_colour_of_a_map_is_taken_for_the_ground(mode: str, name: MapName, vision: str) -> None:
    ground = lab(PALETTES[mode]["picture"], vision)
    seen = [lab("#" + bytes(colour).hex(), vision) for colour in colour_map(name)]
    assert min(float(np.linalg.norm(each - ground)) for each in seen) > 12
    # Zero is where the arms of a map of both signs meet, and where one of a single sign begins.
    zero = lab("#" + bytes(colour_map(name)[128 if name == "diverging" else 0]).hex())
    assert np.linalg.norm(zero - lab(PALETTES[mode]["picture"])) > 40


def test_palette_and_shader_agree_on_places() -> None:
    assert (PALETTE, SPECIAL) == (SHADER_PALETTE, SHADER_SPECIAL)


def test_shades_are_the_nearest_of_256_colours() -> None:
    values = np.array([-1.0, -0.999, 0.0, 0.25, 0.999, 1.0, 5.0, -7.0], np.float32)
    wanted = [0, 0, 128, 159, 255, 255, 255, 0]
    np.testing.assert_array_equal(shades(values, -1.0, 1.0), wanted)


@pytest.mark.parametrize(("low", "high"), [(2.0, 2.0), (0.0, 0.0), (-3e38, 3e38), (0.0, 1e-45)])
def test_ranges_that_are_none_or_too_wide_do_no_harm(low: float, high: float) -> None:
    found = shades(np.array([-3e38, 0.0, 2.0, 3e38], np.float32), low, high)
    assert ((found >= 0) & (found <= 255)).all()


def test_a_range_wider_than_float32_is_coloured_as_any_other() -> None:
    values = np.array([-3e38, -1.5e38, 0.0, 1.5e38, 3e38], np.float32)
    np.testing.assert_array_equal(shades(values, -3e38, 3e38), [0, 64, 128, 191, 255])


def tile(values: np.ndarray, **axes: int | tuple[int, int]):
    sheet = Sheet(values.shape, tuple(Pick(0, 1, n) for n in values.shape), **axes)  # type: ignore[arg-type]
    return draw(values, sheet)


def test_numbers_that_are_none_have_their_own_colours() -> None:
    values = np.array([[np.nan, np.inf, -np.inf, 2.0, -2.0, 0.0]], np.float32)
    made = tile(values, rows=0, columns=1)
    np.testing.assert_array_equal(
        entries(made, -1.0, 1.0)[0, 0, :, 0], [NAN, PLUS, MINUS, OVER, UNDER, 128]
    )
    colours = palette("diverging")
    pixels, _ = coloured(made, -1.0, 1.0, colours)
    assert pixels[0, 0, 0].tolist() == [255, 0, 255, 255]
    assert pixels[0, 0, 1].tolist() == [255, 255, 255, 255]
    assert pixels[0, 0, 5].tolist() == colours[128].tolist()


def test_a_block_shows_the_worst_it_holds() -> None:
    values = np.zeros((4, 4), np.float32)
    values[0, 0], values[1, 1], values[0, 3], values[3, 0] = np.nan, np.inf, np.inf, -0.5
    made = tile(values, rows=0, columns=1, block=(2, 2))
    found = entries(made, -1.0, 1.0)[0, :, :, 0]
    np.testing.assert_array_equal(found, [[NAN, PLUS], [64, 128]])


def test_what_stands_for_a_block_can_be_chosen() -> None:
    made = tile(np.array([[-0.75, 0.5]], np.float32), rows=0, columns=1, block=(1, 2))
    found = [int(entries(made, -1.0, 1.0, c).item()) for c in ("largest", "greatest", "least")]
    assert found == [32, 191, 32]


def test_three_channels_are_red_green_and_blue() -> None:
    values = np.array([[[0.0, 0.5, 1.0], [np.nan, 0.0, 0.0]]], np.float32)
    pixels, numbers = coloured(
        tile(values, rows=0, columns=1, channels=2), 0.0, 1.0, palette("sequential")
    )
    assert pixels[0, 0, 0].tolist() == [0, 128, 255, 255]
    assert pixels[0, 0, 1].tolist() == [255, 0, 255, 255]
    assert numbers[0, 0, 1] == NAN
