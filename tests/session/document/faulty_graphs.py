"""Some hundred graphs with one mistake each: where it is found, and the id of what is said."""

from __future__ import annotations

from tests.session.document.faulty_endings import ENDINGS
from tests.session.document.faulty_fits import DATA
from tests.session.document.faulty_merges import LINK, MERGE
from tests.session.document.faulty_outputs import OUTPUTS
from tests.session.document.faulty_parts import DIGITS, MOONS, Faulty
from tests.session.document.faulty_shapes import AXIS_AND_SIZE, DTYPE, RANK, WINDOW

FAULTY: tuple[Faulty, ...] = (
    *RANK,
    *DTYPE,
    *WINDOW,
    *MERGE,
    *AXIS_AND_SIZE,
    *LINK,
    *DATA,
    *OUTPUTS,
    *ENDINGS,
)

__all__ = ["DIGITS", "FAULTY", "MOONS", "Faulty"]
