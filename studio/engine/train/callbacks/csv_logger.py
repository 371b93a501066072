"""Writes one line per epoch into a table."""

from __future__ import annotations

import csv
from io import StringIO
from pathlib import Path

from studio.engine.core.errors import DataError, cleaned
from studio.engine.train.callbacks.callback import Callback, Logs

_LONGEST_HEAD = 1 << 20


class CSVLogger(Callback):
    """One line per epoch: its number and every metric by name, in alphabetical order.

    Args:
        filename: where to write.
        separator: between cells.
        append: go on behind what the file holds, instead of beginning it again.
    """

    def __init__(self, filename: str | Path, separator: str = ",", append: bool = False) -> None:
        self.path = Path(filename)
        self.separator = separator
        self.append = append
        self._columns: list[str] = []

    def on_train_begin(self) -> None:
        """Begin the file; DataError when it cannot be written."""
        self._columns = []
        if self.append and self.path.is_file():
            try:
                with self.path.open(encoding="utf-8", newline="") as file:
                    head = file.readline(_LONGEST_HEAD)
                self._columns = next(csv.reader([head], delimiter=self.separator), [])[1:]
            except (OSError, ValueError, csv.Error) as error:
                raise DataError(
                    f"the log cannot be appended to: {cleaned(str(error))}",
                    who=str(self.path),
                    hint="name another file, or begin a new one with append=False",
                ) from error
            return
        self._write("w", "")

    def on_epoch_end(self, epoch: int, logs: Logs) -> None:
        """Add a line, and the head above the first."""
        text = StringIO()
        writer = csv.writer(text, delimiter=self.separator, lineterminator="\n")
        if not self._columns:
            self._columns = sorted(logs)
            writer.writerow(["epoch", *self._columns])
        cells = [repr(logs[name]) if name in logs else "" for name in self._columns]
        writer.writerow([epoch, *cells])
        self._write("a", text.getvalue())

    def _write(self, mode: str, text: str) -> None:
        try:
            with self.path.open(mode, encoding="utf-8", newline="") as file:
                file.write(text)
        except OSError as error:
            raise DataError(
                f"the log cannot be written: {error.strerror}",
                who=str(self.path),
                hint="choose a writable folder",
            ) from error
