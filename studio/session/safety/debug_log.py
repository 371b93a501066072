"""A log file for developers: stalls of the window, warnings of Qt, tracebacks."""

from __future__ import annotations

import logging
from logging.handlers import RotatingFileHandler
from pathlib import Path

_BYTES = 1 << 20
_LOG = logging.getLogger(__name__)


class DebugLog:
    """Writes every record of the studio's loggers to a file, until it is closed.

    Where the file cannot be written nothing is: the studio goes on without.

    Args:
        path: the file; the one before stands beside it, with ``.1`` at its end.
    """

    def __init__(self, path: Path, name: str = "studio") -> None:
        self._logger = logging.getLogger(name)
        self._level = self._logger.level
        self._handler: logging.Handler | None = None
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._handler = _QuietFile(path, maxBytes=_BYTES, backupCount=1, encoding="utf-8")
        except OSError as error:
            _LOG.info("there is no debug log: %s", error)
            return
        self._handler.setFormatter(
            logging.Formatter("%(asctime)s %(process)d %(levelname)s %(name)s: %(message)s")
        )
        self._logger.addHandler(self._handler)
        self._logger.setLevel(logging.DEBUG)

    def close(self) -> None:
        """Write nothing any more."""
        if self._handler is not None:
            self._logger.removeHandler(self._handler)
            self._logger.setLevel(self._level)
            self._handler.close()
            self._handler = None


class _QuietFile(RotatingFileHandler):
    """A record that cannot be written is lost: a full disk must not fill the terminal as well."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802
        return
