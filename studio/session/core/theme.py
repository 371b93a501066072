"""Colours by what they mean: two palettes, and which of them is in force."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from studio.engine.core.signal import Signal

if TYPE_CHECKING:
    from collections.abc import Mapping

Mode: TypeAlias = Literal["dark", "light"]
Choice: TypeAlias = Literal["system", "dark", "light"]

FAMILIES = ("data", "linear", "norm", "activation", "shape", "merge", "sequence", "loss")
"""The families of layers; ``family.<name>`` is the colour of each."""

LINKS = 12
"""Hues of equal lightness that tie an instruction to its layer: ``link.0`` to ``link.11``."""

SERIES = 8
"""Colours of curves: ``series.0`` to ``series.7``; the first is for training, the next for
validation."""


def _palette(
    roles: Mapping[str, str], families: tuple[str, ...], links: str, series: str
) -> Mapping[str, str]:
    return MappingProxyType(
        {
            **roles,
            **{f"family.{n}": c for n, c in zip(FAMILIES, families, strict=True)},
            # A layer that is not there has no colour of its own.
            "family.missing": roles["text3"],
            # A block holds layers of all families.
            "family.block": roles["text2"],
            # Operations are small parts beside layers: they do not stand out.
            "family.operation": roles["text2"],
            **{f"link.{n}": colour for n, colour in enumerate(links.split())},
            **{f"series.{n}": colour for n, colour in enumerate(series.split())},
        }
    )


# Contrast of every text on every ground, and the differences between families and between
# series for the three kinds of colour blindness, are tested: change a colour and run the tests.
# ``picture`` is the ground of coloured cells: no colour of a map is like it, zero's least of all.
PALETTES: Mapping[Mode, Mapping[str, str]] = MappingProxyType(
    {
        "dark": _palette(
            {
                "window": "#14161A",
                "dock": "#1B1E24",
                "field": "#252A33",
                "hover": "#303642",
                "canvas": "#101216",
                "picture": "#101216",
                "hairline": "#3D4450",
                "outline": "#6B7585",
                "text": "#E6E9EF",
                "text2": "#AEB6C4",
                "text3": "#8A93A3",
                "accent": "#5AA2F2",
                "on_accent": "#0B1420",
                "ok": "#4CC38A",
                "warning": "#F0B44A",
                "error": "#FF7B7B",
                "shadow": "#000000",
            },
            ("#4773FC", "#FAB829", "#07CF8C", "#C14DBF", "#778491", "#F6FE9C", "#D3B2F3",
             "#D85546"),
            "#FF8FA4 #35C78C #CA9CFE #BDB349 #1ABDFF #FF9479 #08C5BD #FB8BD4 #87C060 #8AB0FE "
            "#E9A251 #10C1DD",
            "#5AA2F2 #F2A03D #6CF2C4 #B870AD #65954B #EAEA27 #F8B4EB #B5F18A",
        ),
        "light": _palette(
            {
                "window": "#F3F4F7",
                "dock": "#FFFFFF",
                "field": "#EBEEF2",
                "hover": "#DFE3EA",
                "canvas": "#E9ECF1",
                "picture": "#686B70",
                "hairline": "#C5CCD6",
                "outline": "#7C8695",
                "text": "#191C22",
                "text2": "#464E5C",
                "text3": "#616A79",
                "accent": "#1463BF",
                "on_accent": "#FFFFFF",
                "ok": "#147249",
                "warning": "#855600",
                "error": "#BC2A2A",
                "shadow": "#3A4150",
            },
            ("#23449F", "#532B18", "#1B714E", "#A34693", "#3D464B", "#667022", "#110771",
             "#D6051C"),
            "#BF3D5F #047D53 #8259B4 #757001 #0275A0 #B64B34 #027A75 #AF448D #427A1E #0E6DC8 "
            "#9C5F0A #06788A",
            "#1463BF #C25A00 #8712F6 #EA1A57 #1D0596 #AD679D #5A1E4D #6C0706",
        ),
    }
)  # fmt: skip

ROLES = tuple(PALETTES["dark"])
"""Every name a colour can be asked for by."""


class Theme:
    """Which palette is in force: the user's choice, or what the system shows.

    Args:
        choice: the user's choice.
        system: what the system shows, as far as it is known.
    """

    def __init__(self, choice: Choice = "system", system: Mode = "dark") -> None:
        self.changed: Signal[[]] = Signal()
        self.choice: Choice = choice
        self.system: Mode = system
        self.high_contrast = False
        """Whether text has the strongest colour and controls a stronger outline."""

    @property
    def mode(self) -> Mode:
        """The palette in force."""
        return self.system if self.choice == "system" else self.choice

    @property
    def is_dark(self) -> bool:
        """Whether light text stands on a dark ground."""
        return self.mode == "dark"

    def choose(self, choice: str) -> None:
        """Take a palette, or follow the system; ValueError for another word."""
        if choice not in get_args(Choice):
            raise ValueError(f"expected one of {', '.join(get_args(Choice))}, got {choice!r}")
        self._change(choice=choice)

    def follow(self, system: Mode) -> None:
        """The system shows this now."""
        self._change(system=system)

    def set_high_contrast(self, on: bool) -> None:
        """Strengthen text and outlines, or not."""
        self._change(high_contrast=on)

    def colour(self, role: str) -> str:
        """The colour of a role as ``#RRGGBB``; KeyError for an unknown role."""
        if self.high_contrast:
            role = {"text2": "text", "text3": "text", "outline": "text2"}.get(role, role)
        return PALETTES[self.mode][role]

    def mixed(self, role: str, ground: str, share: float) -> str:
        """``share`` of one role's colour laid over another's, for tints and washes."""
        over, under = _channels(self.colour(role)), _channels(self.colour(ground))
        mixed = (round(share * o + (1 - share) * u) for o, u in zip(over, under, strict=True))
        return "#" + "".join(f"{value:02X}" for value in mixed)

    def link(self, number: int) -> str:
        """The hue that ties things to the ``number``-th layer; after the last it starts again."""
        return self.colour(f"link.{number % LINKS}")

    def series(self, number: int) -> str:
        """The colour of the ``number``-th curve; after the last it starts again."""
        return self.colour(f"series.{number % SERIES}")

    def _change(self, **fields: object) -> None:
        before = (self.mode, self.high_contrast)
        for name, value in fields.items():
            setattr(self, name, value)
        if before != (self.mode, self.high_contrast):
            self.changed.emit()


def _channels(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)
