"""How large things are on the canvas and how far they keep apart, in pixels at full size."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from studio.session.document.cards.lines import card_lines
from studio.session.document.layer_types import input_count, kind_text
from studio.session.document.state import CanvasNode, DocumentState, PreviewMode

NODE_WIDTH = 160.0
"""Width of a layer; one whose name or type needs more is wider."""
WIDEST = 264.0
"""Width at most; longer names are cut."""
TITLE_LEFT, TITLE_RIGHT = 32.0, 24.0
"""Room beside the name: the icon before it, the mark of the condition after it."""
TITLE_PIXELS, SMALL_PIXELS = 13, 10
"""Height of the letters of a name, and of its type."""
SIGN_ROOM = 18.0
"""What the sign of a frozen or pinned layer takes beside a text."""
TITLE_HEIGHT = 40.0
COLLAPSED_HEIGHT = 28.0
LINE_HEIGHT = 18.0
LINES_MARGIN = 6.0
PORT_STEP = 18.0
"""Distance between the ports at one side of a layer."""
_PORT_ROOM = 6.0
"""A layer grows when less than this is left below the middle of its lowest port."""
DOT_SIZE = 12.0
GAP = 24.0
"""Free space kept between a layer and its neighbours."""
COLUMN = NODE_WIDTH + 72.0
"""Distance between layers that follow each other: a shape fits on the wire."""
ROW = 160.0
"""Distance between branches."""
GRID = 8.0

PREVIEW_HEIGHT: dict[PreviewMode, float] = {
    "off": 0.0,
    "shape": 22.0,
    "thumbnail": 94.0,
    "full": 182.0,
}
BLOCK_PORTS_TOP = TITLE_HEIGHT + 4.0
BLOCK_PORT_STEP = 20.0
"""Height of a row with the names of a block's ports."""
ANCHOR_WIDTH, ANCHOR_HEIGHT = 96.0, 24.0
"""Size of a port of the open block, seen from inside."""
NOTE_SIZE = (180.0, 96.0)
FRAME_SIZE = (360.0, 220.0)
FRAME_MARGIN = 24.0

Size: TypeAlias = tuple[float, float]
SizeOf: TypeAlias = Callable[[CanvasNode], Size]


class Box(NamedTuple):
    """A rectangle on the canvas."""

    x: float
    y: float
    width: float
    height: float

    @property
    def right(self) -> float:
        """Right edge."""
        return self.x + self.width

    @property
    def bottom(self) -> float:
        """Lower edge."""
        return self.y + self.height

    def overlaps(self, other: Box, gap: float = 0.0) -> bool:
        """Whether the two are nearer than ``gap``."""
        return (
            self.x < other.right + gap
            and other.x < self.right + gap
            and self.y < other.bottom + gap
            and other.y < self.bottom + gap
        )

    def contains(self, other: Box) -> bool:
        """Whether the other lies inside."""
        inside = self.x <= other.x and other.right <= self.right
        return inside and self.y <= other.y and other.bottom <= self.bottom

    def grown(self, margin: float) -> Box:
        """The rectangle with a margin on every side."""
        return Box(
            self.x - margin, self.y - margin, self.width + 2 * margin, self.height + 2 * margin
        )


_LETTERS = (
    ("'", 0.31), ("ijl ", 0.35), ("IJ/\\|,.", 0.38), (":;-", 0.42), ("f!()[]", 0.46),
    ("t_r`", 0.5), ('"*z?cs', 0.6), ("Lvxyak", 0.67), ("eEFTo0123456789$hnu{}", 0.71),
    ("bdgpqSYCPZ", 0.73), ("BAKRVXU", 0.81), ("GDHN#+<=>^~OQ&", 0.87), ("wM%@mW", 1.1),
)  # fmt: skip
_WIDTHS = {letter: width for letters, width in _LETTERS for letter in letters}
_REGULAR = 0.92
"""Width of regular letters beside bold ones."""


@lru_cache(maxsize=20_000)
def text_ems(text: str) -> float:
    """About how wide a text in bold letters is, in heights of its letters.

    The letters are those of a wide font, so that names fit in most: places in a file must not
    depend on the fonts of the machine that laid them out.
    """
    return sum(_WIDTHS.get(letter, 1.0) for letter in text)


def card_width(node: CanvasNode) -> float:
    """Width of a layer's card: its name and type fit, within limits."""
    signs = SIGN_ROOM * (node.frozen + node.pinned)
    title = TITLE_LEFT + TITLE_RIGHT + text_ems(node.name) * TITLE_PIXELS
    if node.collapsed:
        wanted = title + signs
    else:
        kind = text_ems(kind_text(node)) * SMALL_PIXELS * _REGULAR
        wanted = max(title, TITLE_LEFT + TITLE_RIGHT / 2 + kind + signs)
    return min(max(NODE_WIDTH, math.ceil(wanted / GRID) * GRID), WIDEST)


def node_size(node: CanvasNode, outputs: int = 1) -> Size:
    """Width and height of a thing on the canvas; of a layer, with room for all its ports."""
    if node.kind == "dot":
        return DOT_SIZE, DOT_SIZE
    if node.kind in ("note", "frame") or (node.is_block and not node.collapsed):
        return node.width, node.height
    if node.collapsed:
        return card_width(node), COLLAPSED_HEIGHT
    lines = LINE_HEIGHT * len(card_lines(node))
    body = lines + LINES_MARGIN if lines else 0.0
    height = TITLE_HEIGHT + body + PREVIEW_HEIGHT[node.preview]
    lowest = TITLE_HEIGHT / 2 + (max(input_count(node), outputs) - 1) * PORT_STEP
    room = height if height >= lowest + _PORT_ROOM else lowest + PORT_STEP / 2
    return card_width(node), room


def block_height(rows: int) -> float:
    """Height of a block's card with so many rows of ports."""
    return TITLE_HEIGHT + rows * BLOCK_PORT_STEP + 8.0 + PREVIEW_HEIGHT["shape"]


def box_of(node: CanvasNode, size_of: SizeOf = node_size) -> Box:
    """Where a thing lies; the place of a dot is its middle."""
    width, height = size_of(node)
    if node.kind == "dot":
        return Box(node.x - width / 2, node.y - height / 2, width, height)
    return Box(node.x, node.y, width, height)


def bounds(nodes: Iterable[CanvasNode], size_of: SizeOf = node_size) -> Box | None:
    """The smallest rectangle around things; None without any."""
    return united(box_of(node, size_of) for node in nodes)


def united(given: Iterable[Box]) -> Box | None:
    """The smallest rectangle around others; None without any."""
    boxes = list(given)
    if not boxes:
        return None
    left, top = min(b.x for b in boxes), min(b.y for b in boxes)
    right, bottom = max(b.right for b in boxes), max(b.bottom for b in boxes)
    return Box(left, top, right - left, bottom - top)


def free_place(
    state: DocumentState, x: float, y: float, node: CanvasNode, size_of: SizeOf = node_size
) -> tuple[float, float]:
    """The nearest place below (x, y) where ``node`` hides nothing and is not hidden.

    Only what stands in the same block as ``node`` counts.
    """
    beside = state.children.get(node.parent, ())
    taken = (box_of(other, size_of) for other in beside if other.kind != "frame")
    return free_corner(taken, Box(x, y, *size_of(node)))


def free_corner(taken: Iterable[Box], wanted: Box) -> tuple[float, float]:
    """The upper left corner of the nearest place below where a rectangle lies on no other."""
    for box in sorted(taken, key=lambda each: each.y):
        if box.overlaps(wanted, GAP / 2):
            wanted = wanted._replace(y=box.bottom + GAP)
    return wanted.x, wanted.y
