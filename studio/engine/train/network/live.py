"""Tensors watched while a network trains, in all of its executables.

A tap belongs to the network: executables made later get it too. A tensor that exists only inside a
fused kernel is kept by compiling the program again while the old one runs. The new program takes
over between two steps; the session, and so the training, goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import Future
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING

from studio.engine.core.errors import BackendError
from studio.engine.isa.program import Program
from studio.engine.runtime.backend import Executable
from studio.engine.runtime.live import After, StepClock, Tap
from studio.engine.runtime.live_places import NotThereError, find_ref
from studio.engine.runtime.transfers import Array, failed
from studio.engine.train.listing.debug_output import told_steps

if TYPE_CHECKING:
    from studio.engine.train.network.network import Network

MODE = "train"


@dataclass(frozen=True)
class Replacement:
    """A program compiled to keep further tensors, ready to take the place of the one that runs.

    Attributes:
        program: what was compiled.
        kept: names of the tensors it keeps stored.
        executables: for the batch lengths in use.
    """

    program: Program
    kept: frozenset[str]
    executables: tuple[Executable, ...]


class LiveTaps:
    """The taps of one network; from any thread.

    Args:
        network: whose executables are watched.
    """

    def __init__(self, network: Network) -> None:
        self.clock = StepClock()
        self._network = network
        self._lock = Lock()
        self._taps: tuple[Tap, ...] = ()
        self._running: tuple[Executable, ...] = ()
        self._ran: Executable | None = None
        self._closed = False

    @property
    def taps(self) -> tuple[Tap, ...]:
        """What is watched."""
        return self._taps

    @property
    def executables(self) -> tuple[Executable, ...]:
        """What runs the training program at the moment, one for each batch length."""
        return self._running

    def watch(
        self,
        name: str,
        *,
        grad: bool = False,
        after: After = None,
        ready: Callable[[], object] | None = None,
    ) -> Tap:
        """Watch a tensor of the training program.

        Args:
            name: of the tensor.
            grad: watch its gradient.
            after: the instruction to look behind, None for the last that writes it.
            ready: called on the training thread when a snapshot is there;
                it must only notify another thread.

        Raises:
            NotStoredError: only a fused kernel has it; see `recompile`.
            NotThereError: the program has no such tensor, or not at that place.
        """
        tap = self._network.session.tap(name, grad=grad, after=after, ready=ready)
        with self._lock:
            for executable in self._wide_ones():
                executable.attach(tap, self.clock)
            self._taps = (*self._taps, tap)
        return tap

    def unwatch(self, tap: Tap) -> None:
        """Watch it no longer."""
        with self._lock:
            self._taps = tuple(each for each in self._taps if each is not tap)
            for executable in self._running:
                executable.detach(tap)
        tap.close()

    def read(self, name: str, *, grad: bool = False) -> Future[Array]:
        """A tensor as it is now (on the training thread, between steps).

        What the session keeps, and of the rest what a run leaves behind; the future holds a
        BackendError for anything else.
        """
        if not grad and self._network.session.has(name):
            return self._network.session.read(name)
        with self._lock:
            wide, ran = self._wide_ones(), self._ran
        try:
            if ran is None or all(each is not ran for each in wide):
                raise NotThereError("it was overwritten in the last step", who=name)
            return ran.fetch(find_ref(ran.program, name, grad))
        except BackendError as error:
            return failed(error)

    def begin(self, executable: Executable, step: int) -> None:
        """Steps are about to be queued, after so many (on the training thread)."""
        self.clock.step = step
        self._ran = executable

    def made(self, mode: str, executable: Executable) -> None:
        """The network has a new executable."""
        if mode != MODE:
            return
        with self._lock:
            self._running = (*self._running, executable)
            self._attach_all()

    def gone(self, executable: Executable) -> None:
        """The network is about to close an executable."""
        with self._lock:
            self._running = tuple(each for each in self._running if each is not executable)
            self._attach_all()

    def close(self) -> None:
        """Watch nothing any more."""
        with self._lock:
            taps, self._taps, self._running = self._taps, (), ()
            self._closed = True
        for tap in taps:
            tap.close()

    def recompile(
        self,
        names: Iterable[str],
        progress: Callable[[int, int], None] | None = None,
    ) -> Replacement:
        """Compile the training program so that it keeps these tensors, beside the one that runs.

        Takes its time, on the caller's thread; give the result to `replace`.

        Raises:
            NotThereError: a name is no tensor of the program.
        """
        network = self._network
        kept = network.programs.kept(MODE) | frozenset(names)
        program = network.compile_keeping(MODE, kept)
        made: list[Executable] = []
        try:
            for batch in sorted({executable.batch for executable in self._running}):
                one = network.backend.compile(program, network.session, batch, progress)
                made.append(told_steps(one, network.backend))
        except BaseException:
            for executable in made:
                executable.close()
            raise
        return Replacement(program, kept, tuple(made))

    def replace(self, replacement: Replacement) -> None:
        """Run what was compiled from the next step on (on the training thread, between steps)."""
        if not self._closed:
            self._network.replace(MODE, replacement)
            return
        for executable in replacement.executables:
            executable.close()

    def _wide_ones(self) -> tuple[Executable, ...]:
        """The executables of whole batches: a picture should not shrink for the last of an epoch.

        Only where there is no other is the partial batch watched.
        """
        most = max((each.batch for each in self._running), default=0)
        return tuple(each for each in self._running if each.batch == most)

    def _attach_all(self) -> None:
        wide = self._wide_ones()
        for executable in self._running:
            for tap in self._taps:
                if executable not in wide:
                    executable.detach(tap)
                    continue
                try:
                    executable.attach(tap, self.clock)
                except BackendError as error:
                    executable.detach(tap)
                    tap.fail(error)
