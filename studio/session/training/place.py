"""Where trainings are sent: this computer, or a cluster whose address is remembered."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

from studio.engine.core.errors import FormatError, ParameterError, StudioError
from studio.engine.core.signal import Signal
from studio.engine.formats.atomic import write_atomic
from studio.engine.formats.limits import Limits
from studio.engine.formats.safe_json import load_json
from studio.engine.scale.sweep.connection import checked_address, require_dask

_LIMITS = Limits(file_bytes=1 << 16, json_bytes=1 << 16, json_depth=4, json_values=100)
_ADDRESS = "address"


class TrainingPlace:
    """Where the next training goes. It begins with this computer; the address is kept.

    Args:
        memory: file that remembers the address; None keeps it in memory.
    """

    def __init__(self, memory: Path | None = None) -> None:
        self.changed: Signal[[]] = Signal()
        self._memory = memory
        self._remembered = "" if memory is None else _read(memory)
        self._is_elsewhere = False

    @property
    def address(self) -> str:
        """Of the cluster that is trained on; empty for this computer."""
        return self._remembered if self._is_elsewhere else ""

    @property
    def remembered(self) -> str:
        """The address given last; empty without one."""
        return self._remembered

    def use_this_computer(self) -> None:
        """Train here."""
        self._is_elsewhere = False
        self.changed.emit()

    def use_cluster(self, address: str) -> None:
        """Train on a cluster, and remember its address.

        Raises:
            ParameterError: the address is none, or leads over a network without encryption.
            BackendError: the package that reaches clusters is not installed.
        """
        found = checked_address(address.strip())
        require_dask()
        is_new, self._remembered, self._is_elsewhere = found != self._remembered, found, True
        self.changed.emit()
        if is_new and self._memory is not None:
            # A choice that cannot be written down is in force all the same.
            with suppress(OSError, StudioError):
                self._memory.parent.mkdir(parents=True, exist_ok=True)
                write_atomic(self._memory, json.dumps({_ADDRESS: found}).encode())


def _read(memory: Path) -> str:
    try:
        found = load_json(memory, _LIMITS)
        address = found.get(_ADDRESS) if isinstance(found, dict) else None
        return checked_address(address) if isinstance(address, str) else ""
    except (FormatError, ParameterError):
        return ""
