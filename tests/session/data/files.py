"""Files a user may have, made small for the tests of data."""

from __future__ import annotations

import gzip
import struct
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from studio.engine.core.interruption import go_on
from studio.engine.train.data.csv import lines as csv_lines

BAD_TABLE = (
    "rooms,area,price,kind\n3,70,200,a\nx,2,3,b\n4,,3,a\n5,6,7\n1,nan,2,b\n6,7,8,\n1,2,3,b\n"
)
"""Lines 3, 4, 5, 6 and 7 cannot be read; two rows can."""


def write_table(folder: Path, name: str = "houses.csv", rows: int = 60) -> Path:
    rng = np.random.default_rng(1)
    lines = ["id,rooms,area,town,kind"]
    for number in range(rows):
        rooms, area = rng.integers(1, 6), rng.uniform(20, 200)
        kind = "house" if area > 100 else "flat"
        lines.append(f"h{number},{rooms},{area:.2f},{'Bern' if number % 2 else 'Basel'},{kind}")
    path = folder / name
    path.write_text("\n".join(lines) + "\n")
    return path


def write_pictures(folder: Path, classes: tuple[str, ...] = ("cat", "dog"), each: int = 6) -> Path:
    rng = np.random.default_rng(2)
    for name in classes:
        (folder / name).mkdir(parents=True)
        for number in range(each):
            pixels = rng.integers(0, 256, (12, 10, 3), dtype=np.uint8)
            Image.fromarray(pixels).save(folder / name / f"{number}.png")
    return folder


def write_idx(path: Path, array: np.ndarray, packed: bool = False) -> Path:
    head = bytes([0, 0, 8, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape)
    content = head + array.astype(np.uint8).tobytes()
    path.write_bytes(gzip.compress(content) if packed else content)
    return path


class HeldReading:
    """Reads tables up to the third question whether to go on, and waits there to be stopped.

    Attributes:
        asked: how often it was asked whether to go on.
        held: set once it waits in the middle of a table.
    """

    HELD_AT = 3

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked = 0
        self.held = threading.Event()
        monkeypatch.setattr(csv_lines, "go_on", self._ask)

    def _ask(self) -> None:
        self.asked += 1
        go_on()
        if self.asked == self.HELD_AT:
            self.held.set()
            end = time.monotonic() + 60
            while time.monotonic() < end:
                go_on()
                time.sleep(0.001)
