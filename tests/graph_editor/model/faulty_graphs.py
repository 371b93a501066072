"""Some ninety graphs with one mistake each: where it is found, and the id of what is said."""

from __future__ import annotations

from tests.graph_editor.model.faulty_endings import ENDINGS
from tests.graph_editor.model.faulty_fits import DATA
from tests.graph_editor.model.faulty_merges import LINK, MERGE
from tests.graph_editor.model.faulty_parts import DIGITS, MOONS, Faulty
from tests.graph_editor.model.faulty_shapes import AXIS_AND_SIZE, RANK, WINDOW

FAULTY: tuple[Faulty, ...] = (*RANK, *WINDOW, *MERGE, *AXIS_AND_SIZE, *LINK, *DATA, *ENDINGS)

__all__ = ["DIGITS", "FAULTY", "MOONS", "Faulty"]
