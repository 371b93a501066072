"""The text of a table: one line at a time, or a megabyte of whole lines at a time."""

import re
from typing import BinaryIO

from studio.engine.core.errors import DataError
from studio.engine.core.interruption import go_on
from studio.engine.train.data.source_files import DataLimits

PIECE_BYTES = 1 << 20
"""Read from the file at once.

Each reading lets go of the interpreter and takes it back at once, before another thread that waits
for it has woken up; several within the time after which that thread would insist keep it waiting.
"""

SAVE_AS_UTF8 = "save the table as UTF-8 (in spreadsheets: CSV UTF-8)"
_ASKED_EVERY = 1024
"""Lines after which it is asked whether to read on."""

LINE_END = re.compile(rb"\r\n?|\n")
"""What ends a line of a table."""
_BYTES_OF_A_CHARACTER = 4


class TableText:
    """A position in a table's file, always at the beginning of a line.

    Args:
        stream: the file.
        who: its name, for messages.
        limits: caps on rows.

    Attributes:
        at: bytes before this position.
        number: lines before it.
        chars: characters of the lines taken since the caller set this to 0.
    """

    def __init__(self, stream: BinaryIO, who: str, limits: DataLimits) -> None:
        self.at = 0
        self.number = 0
        self.chars = 0
        self._stream = stream
        self._who = who
        self._cap = limits.row_chars
        self._data = b""
        self._begin = 0
        self._ended = False

    def __iter__(self) -> "TableText":
        return self

    def __next__(self) -> str:
        """The next line with its line end; DataError where it is no text or too long."""
        begin = self.at - self._begin
        end = self._end_of_line(begin)
        begin = self.at - self._begin
        if end == begin:
            raise StopIteration
        if self.number % _ASKED_EVERY == 0:
            go_on()
        text = self._decoded(self._data[begin:end])
        self.at = self._begin + end
        self.number += 1
        self.chars += len(text)
        if self.chars > self._cap:
            raise self._too_long(self.number)
        return text

    def piece(self) -> bytes:
        """The whole lines of about the next megabyte, not taken yet; empty at the end."""
        go_on()
        if len(self._data) + self._begin - self.at < PIECE_BYTES and not self._ended:
            self._fill()
        begin = self.at - self._begin
        if self._ended:
            return self._data[begin:]
        # A carriage return at the very end may be the first half of a line end.
        last = max(self._data.rfind(b"\n", begin), self._data.rfind(b"\r", begin, -1))
        end = last + 1 or self._end_of_line(begin)
        begin = self.at - self._begin
        return self._data[begin:end]

    def take(self, piece: bytes, lines: int) -> None:
        """Go behind a piece that holds so many lines."""
        self.at += len(piece)
        self.number += lines

    def _end_of_line(self, begin: int) -> int:
        """Where the line that begins there ends in the data at hand, its line end included.

        What is at hand may change its beginning meanwhile.
        """
        scanned = begin
        while True:
            found = LINE_END.search(self._data, scanned)
            # A carriage return at the very end may be the first half of a line end.
            if found is not None and (found.end() < len(self._data) or self._ended
                                      or found[0] != b"\r"):  # fmt: skip
                return found.end()
            if self._ended:
                return len(self._data)
            length = len(self._data) - begin
            if length > _BYTES_OF_A_CHARACTER * self._cap:
                raise self._too_long(self.number + 1)
            scanned = max(0, length - 1)
            self._fill()
            begin = self.at - self._begin
            scanned += begin

    def _fill(self) -> None:
        more = self._stream.read(PIECE_BYTES)
        self._ended = not more
        self._data = self._data[self.at - self._begin :] + more
        self._begin = self.at

    def _decoded(self, raw: bytes) -> str:
        line = self.number + 1
        if b"\0" in raw:
            raise DataError(f"row {line} holds a zero byte: this is not a text file", who=self._who)
        try:
            text = raw.decode("utf-8")
        except UnicodeDecodeError as error:
            raise DataError(
                f"row {line} is not UTF-8: byte {raw[error.start]:#04x} at position "
                f"{error.start + 1}",
                who=self._who,
                hint=SAVE_AS_UTF8,
            ) from None
        return text.removeprefix("\ufeff") if line == 1 else text

    def _too_long(self, line: int) -> DataError:
        return DataError(f"row {line} is longer than {self._cap} characters", who=self._who)
