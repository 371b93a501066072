"""What the listing has to know of where instructions came from; the provenance map answers it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from studio.engine.core.tensor import Ref


class Origins(Protocol):
    """Keys of instructions, and the layers each came from."""

    def key_of(self, index: int) -> str:
        """The key of an instruction, the same after another compile."""
        ...

    def index_of(self, key: str) -> int | None:
        """The running index of an instruction, None when the program has it no more."""
        ...

    def nodes_of(self, index: int) -> Sequence[tuple[str, str]]:
        """Layer (or housekeeping owner) and role of everything an instruction came from."""
        ...

    def key_of_ref(self, ref: Ref) -> str:
        """The key of the tensor an operand names."""
        ...


def layers_of(origins: Origins, index: int) -> tuple[str, ...]:
    """The layers with an instruction, housekeeping owners left out."""
    return tuple(owner for owner, role in origins.nodes_of(index) if role != "synthetic")


def listed_owners(origins: Origins, index: int) -> tuple[str, ...]:
    """Who an instruction is listed under: what it was emitted for, the optimiser for updates."""
    found = origins.nodes_of(index)
    emitted = tuple(owner for owner, role in found if role != "update")
    return emitted or tuple(owner for owner, _ in found)
