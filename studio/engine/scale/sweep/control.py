"""What the owner of a sweep asks of it while it runs: pause, go on, stop."""

from __future__ import annotations

import os
import threading

PAUSE, RESUME, STOP = "pause", "resume", "stop"


class SweepControl:
    """What is asked of a sweep; from any thread.

    A paused sweep begins no trial; those under way go on. A stopped one ends at once, and can be
    continued.
    """

    def __init__(self) -> None:
        self._paused = threading.Event()
        self._stopped = threading.Event()

    @property
    def is_paused(self) -> bool:
        """Whether no trial is to begin."""
        return self._paused.is_set()

    @property
    def is_stopped(self) -> bool:
        """Whether it is to end."""
        return self._stopped.is_set()

    def ask(self, word: str) -> None:
        """Take one of the words; others mean nothing."""
        if word == PAUSE:
            self._paused.set()
        elif word == RESUME:
            self._paused.clear()
        elif word == STOP:
            self._stopped.set()


def follow(control: SweepControl, descriptor: int) -> threading.Thread:
    """Take words, one a line, from an open file; its end means stop: the owner is gone."""

    def listen() -> None:
        # Not a text stream: its lock would be held when the interpreter ends.
        waiting = b""
        try:
            while found := os.read(descriptor, 4096):
                *lines, waiting = (waiting + found).split(b"\n")
                for line in lines:
                    control.ask(line.decode("utf-8", "replace").strip())
        except OSError:
            pass
        control.ask(STOP)

    made = threading.Thread(target=listen, name="sweep control", daemon=True)
    made.start()
    return made
