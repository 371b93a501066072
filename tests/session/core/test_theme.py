"""The palettes: contrast, colour blindness, equal lightness, and which one is in force."""

from __future__ import annotations

import re

import numpy as np
import pytest

from studio.session.core.theme import FAMILIES, LINKS, PALETTES, ROLES, SERIES, Theme
from tests.session.colour_vision import DEFICIENCIES, contrast, lab, smallest_difference

MODES = ("dark", "light")
GROUNDS = ("window", "dock", "field", "hover", "canvas")
TEXTS = ("text", "text2", "accent", "ok", "warning", "error")


def colours(mode: str, prefix: str, count: int) -> list[str]:
    # Missing layers, blocks and operations are grey, and say nothing by their colour.
    grey = ("family.missing", "family.block", "family.operation")
    palette = {role: each for role, each in PALETTES[mode].items() if role not in grey}
    found = [colour for role, colour in palette.items() if role.startswith(f"{prefix}.")]
    assert len(found) == count
    return found


def test_contrast_of_black_on_white_is_21() -> None:
    assert contrast("#000000", "#FFFFFF") == pytest.approx(21.0)
    assert contrast("#777777", "#777777") == pytest.approx(1.0)


def test_lightness_of_white_and_mid_grey_are_those_of_cie() -> None:
    assert lab("#FFFFFF") == pytest.approx([100, 0, 0], abs=0.02)
    assert lab("#777777")[0] == pytest.approx(50.03, abs=0.05)


@pytest.mark.parametrize("mode", MODES)
def test_both_palettes_have_every_role_as_a_colour(mode: str) -> None:
    assert tuple(PALETTES[mode]) == ROLES
    assert all(re.fullmatch("#[0-9A-F]{6}", colour) for colour in PALETTES[mode].values())


@pytest.mark.parametrize("mode", MODES)
def test_text_reads_on_every_ground(mode: str) -> None:
    palette = PALETTES[mode]
    low = {
        (text, ground): contrast(palette[text], palette[ground])
        for text in TEXTS
        for ground in GROUNDS
        if contrast(palette[text], palette[ground]) < 4.5
    }
    assert low == {}


@pytest.mark.parametrize("mode", MODES)
def test_faint_text_reads_everywhere_but_on_hover(mode: str) -> None:
    palette = PALETTES[mode]
    assert all(
        contrast(palette["text3"], palette[ground]) >= 4.5
        for ground in GROUNDS
        if ground != "hover"
    )


@pytest.mark.parametrize("mode", MODES)
def test_outlines_and_focus_are_seen(mode: str) -> None:
    palette = PALETTES[mode]
    for ground in ("window", "dock", "field", "canvas"):
        assert contrast(palette["outline"], palette[ground]) >= 3
        assert contrast(palette["accent"], palette[ground]) >= 3
    assert contrast(palette["on_accent"], palette["accent"]) >= 4.5


@pytest.mark.parametrize("vision", DEFICIENCIES)
@pytest.mark.parametrize("mode", MODES)
def test_families_differ_for_every_eye(mode: str, vision: str) -> None:
    assert smallest_difference(colours(mode, "family", len(FAMILIES)), vision) >= 15


@pytest.mark.parametrize("vision", DEFICIENCIES)
@pytest.mark.parametrize("mode", MODES)
def test_series_differ_for_every_eye(mode: str, vision: str) -> None:
    assert smallest_difference(colours(mode, "series", SERIES), vision) >= 20


@pytest.mark.parametrize("mode", MODES)
def test_families_and_series_stand_out_from_the_canvas(mode: str) -> None:
    canvas, dock = PALETTES[mode]["canvas"], PALETTES[mode]["dock"]
    assert all(contrast(c, canvas) >= 4.4 for c in colours(mode, "family", len(FAMILIES)))
    assert all(contrast(c, dock) >= 3 for c in colours(mode, "series", SERIES))
    assert contrast(PALETTES[mode]["family.missing"], canvas) >= 3
    assert contrast(PALETTES[mode]["family.block"], canvas) >= 3
    assert contrast(PALETTES[mode]["family.operation"], canvas) >= 3


@pytest.mark.parametrize("mode", MODES)
def test_links_are_equally_light_and_apart_in_hue(mode: str) -> None:
    points = [lab(colour) for colour in colours(mode, "link", LINKS)]
    lightness = [point[0] for point in points]
    assert max(lightness) - min(lightness) < 1
    hues = sorted(np.degrees(np.arctan2(point[2], point[1])) % 360 for point in points)
    gaps = np.diff([*hues, hues[0] + 360])
    assert gaps.min() > 20


@pytest.mark.parametrize("mode", MODES)
def test_neighbouring_links_are_far_apart(mode: str) -> None:
    found = colours(mode, "link", LINKS)
    pairs = zip(found, found[1:] + found[:1], strict=True)
    assert min(float(np.linalg.norm(lab(a) - lab(b))) for a, b in pairs) > 40


def test_system_is_followed_until_the_user_chooses() -> None:
    theme = Theme()
    heard = []

    def hear() -> None:
        heard.append(theme.mode)

    theme.changed.connect(hear)
    assert theme.is_dark
    theme.follow("light")
    assert theme.colour("window") == PALETTES["light"]["window"]
    theme.choose("dark")
    theme.follow("dark")
    theme.choose("system")
    assert heard == ["light", "dark"]
    with pytest.raises(ValueError, match="expected one of system, dark, light"):
        theme.choose("blue")


def test_high_contrast_strengthens_text_and_outlines() -> None:
    theme = Theme("light")
    theme.set_high_contrast(True)
    assert theme.colour("text3") == PALETTES["light"]["text"]
    assert contrast(theme.colour("outline"), theme.colour("hover")) > 4.5


def test_mixing_lays_a_share_over_the_ground() -> None:
    theme = Theme("light")
    assert theme.mixed("accent", "dock", 0) == "#FFFFFF"
    assert theme.mixed("accent", "dock", 1) == theme.colour("accent")
    assert theme.mixed("text", "dock", 0.5) == "#8C8E90"


def test_links_and_series_start_again_after_the_last() -> None:
    theme = Theme("dark")
    assert theme.link(LINKS + 1) == theme.colour("link.1")
    assert theme.series(SERIES) == theme.colour("series.0")
