"""A network on a device: one session, the programs of a task, and executables made when needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from studio.engine.compiler.plan_memory import MemoryPlan, plan_memory
from studio.engine.core.closing import Closing
from studio.engine.core.errors import CheckpointError, MemoryShortageError, quoted
from studio.engine.core.signal import Signal
from studio.engine.core.tensor import Ref, Role, Tensor
from studio.engine.isa.program import Program
from studio.engine.layers.initializers import initial_values, starts_at_zero
from studio.engine.layers.lengths import Lengths
from studio.engine.runtime.backend import Backend, BackendSession, Executable
from studio.engine.runtime.exchange import Exchange
from studio.engine.runtime.free_memory import free_memory, reserve_of, shortage_text
from studio.engine.runtime.peaks import is_gpu
from studio.engine.train.listing.debug_output import told_steps
from studio.engine.train.network.live import LiveTaps, Replacement
from studio.engine.train.network.programs import Programs
from studio.engine.train.network.recent_lengths import RecentLengths
from studio.engine.train.project.task import Task

Array: TypeAlias = npt.NDArray[np.generic]
Weights: TypeAlias = dict[str, Array]
CompileProgress: TypeAlias = Callable[[int, int], None]

WEIGHT_ROLES = (Role.PARAM, Role.STATE)
STATE_ROLES = (Role.PARAM, Role.STATE, Role.SLOT)

SNAPSHOT_BYTES = 64 << 20
"""States up to this size are kept at the start of each epoch, to repeat it from."""

Snapshot: TypeAlias = Mapping[str, npt.NDArray[np.generic]]
_NAMED = 2


class Network(Closing):
    """Owns the session of one network and everything compiled for it; a context manager.

    ``recent_lengths`` says which unknown lengths stay ready beside those of the task;
    ``lengths_dropped`` is emitted before what was made for others is given up.

    Args:
        task: what it is for.
        backend: where it lives; stays the caller's.
        progress: hears (kernels compiled, kernels in all) during compilation.
    """

    def __init__(
        self, task: Task, backend: Backend, progress: CompileProgress | None = None
    ) -> None:
        self.task = task
        self.backend = backend
        exchange = backend.exchange
        self.programs = Programs(task, 1 if exchange is None else exchange.size)
        self.session: BackendSession = backend.open_session()
        self._progress = progress
        self._executables: dict[tuple[str, int, Lengths], Executable] = {}
        self.lengths_dropped: Signal[[Lengths]] = Signal()
        self.recent_lengths = RecentLengths()
        self.live = LiveTaps(self)

    @property
    def exchange(self) -> Exchange | None:
        """Brings this worker and others together, None where it is alone."""
        found = self.backend.exchange
        return None if found is None or found.is_over else found

    def program(self, mode: str, lengths: Lengths = ()) -> Program:
        """The program of a mode, as it runs on this backend, for lengths of the task or others."""
        level = self.task.settings.level
        return self.programs.program(mode, level, self.backend.target, lengths)

    def executable(self, mode: str, batch: int, lengths: Lengths = ()) -> Executable:
        """The program of a mode for batches of ``batch`` rows; compiled on first use.

        Executables of all lengths use the same weights. At most `MOST_LENGTHS` lengths beside those
        of the task are kept.
        """
        self.use(lengths)
        key = (mode, batch, lengths)
        if key not in self._executables:
            program = self.program(mode, lengths)
            made = self.backend.compile(program, self.session, batch, self._progress)
            self._executables[key] = told_steps(made, self.backend)
            self.live.made(mode, self._executables[key])
        return self._executables[key]

    def use(self, lengths: Lengths) -> None:
        """Note that lengths are in use; those used longest ago are given up where too many are."""
        old = self.recent_lengths.use(lengths)
        if old is None:
            return
        self.lengths_dropped.emit(old)
        names = self.programs.own_tensors(old)
        for key in [key for key in self._executables if key[2] == old]:
            self._close(key)
        self.programs.forget(old)
        self.session.drop(names)

    def compile_keeping(self, mode: str, names: frozenset[str]) -> Program:
        """The program of a mode, compiled again so that tensors of these names stay stored."""
        settings = self.task.settings
        return self.programs.compile(mode, settings.level, self.backend.target, keep=names)

    def replace(self, mode: str, replacement: Replacement) -> None:
        """Run another program of the mode from now on, on the same session (between steps)."""
        settings = self.task.settings
        self.programs.keep(
            mode, settings.level, self.backend.target, replacement.kept, replacement.program
        )
        self.forget(mode)
        for executable in replacement.executables:
            self._executables[mode, executable.batch, ()] = executable
            self.live.made(mode, executable)

    def forget(self, mode: str, lengths: Lengths | None = None) -> None:
        """Give up the executables of a mode, whose resident data is about to change its length.

        Of all lengths, or of some.
        """
        for key in list(self._executables):
            if key[0] == mode and lengths in (None, key[2]):
                self._close(key)

    def _close(self, key: tuple[str, int, Lengths]) -> None:
        self.live.gone(self._executables[key])
        self._executables.pop(key).close()

    def tensors(self, mode: str, roles: tuple[Role, ...] = WEIGHT_ROLES) -> tuple[Tensor, ...]:
        """Persistent tensors of a mode's program in id order, views left out."""
        return tuple(t for t in self.program(mode).of_role(*roles) if t.view_of is None)

    def initialise(self, seed: int, mode: str = "train") -> None:
        """Make parameters, statistics and slots as they begin; the same for the same seed."""
        tensors = self.tensors(mode, STATE_ROLES)
        # A new tensor is zero already.
        zero = {t.name for t in tensors if starts_at_zero(t) and not self.session.has(t.name)}
        self.session.ensure(tensors)
        rest = [tensor for tensor in tensors if tensor.name not in zero]
        self.session.write_all((tensor.name, initial_values(tensor, seed)) for tensor in rest)

    def read(self, roles: tuple[Role, ...] = WEIGHT_ROLES, mode: str = "train") -> Weights:
        """Tensors of the given roles by name, as stored; waits for the device once."""
        found: dict[str, Future[Array]] = {
            t.name: self.session.read(t.name) for t in self.tensors(mode, roles)
        }
        return {name: np.array(future.result()) for name, future in found.items()}

    def write(
        self,
        values: Mapping[str, Array],
        roles: tuple[Role, ...] = WEIGHT_ROLES,
        mode: str = "train",
        who: str = "weights",
    ) -> None:
        """Write all tensors of the given roles; CheckpointError unless they fit exactly."""
        tensors = self.tensors(mode, roles)
        check_fit(tensors, values, who)
        self.session.ensure(tensors)
        self.session.write_all((t.name, np.ascontiguousarray(values[t.name])) for t in tensors)

    def close(self) -> None:
        """Give everything back to the backend; more than once does nothing."""
        self.live.close()
        for executable in self._executables.values():
            executable.close()
        self._executables.clear()
        self.session.close()


def check_fit(tensors: tuple[Tensor, ...], values: Mapping[str, Array], who: str) -> None:
    """CheckpointError naming the first tensor that is missing or of another shape or type."""
    for tensor in tensors:
        found = values.get(tensor.name)
        if found is None:
            raise CheckpointError(
                f"there is nothing for {quoted(tensor.name)}",
                who=who,
                hint="it was made for another network or optimiser",
            )
        if tuple(found.shape) != tensor.shape or found.dtype != tensor.dtype.np:
            raise CheckpointError(
                f"{quoted(tensor.name)}: expected {tensor.type}, "
                f"got {found.dtype}{list(found.shape)}",
                who=who,
                hint="it was made for another network",
            )


def snapshot_of(network: Network) -> Snapshot | None:
    """Weights, statistics and slots as they are, or None where they are too large to keep."""
    tensors = network.tensors("train", STATE_ROLES)
    size = sum(t.numel(1) * t.dtype.itemsize for t in tensors)
    return network.read(STATE_ROLES) if size <= SNAPSHOT_BYTES else None


def require_room(network: Network) -> None:
    """MemoryShortageError where weights, their state and a step need more than is free.

    Memory of a card is not asked for: its backend refuses what is beyond its budget.
    """
    task = network.task
    free = None if is_gpu(network.backend) else free_memory()
    if free is None:
        return
    kept = sum(
        tensor.numel(1) * tensor.dtype.itemsize
        for tensor in network.tensors("train", STATE_ROLES)
        if not network.session.has(tensor.name)
    )
    batch = task.batch_rows
    plan = _plan(network, batch)
    needed = kept + plan.total_bytes
    usable = free - reserve_of(free)
    if needed <= usable:
        return
    sizes = _halves(batch)
    fitting = next((n for n in sizes if kept + _plan(network, n).total_bytes <= usable), 0)
    largest = ", ".join(str(ref) for ref in _largest(plan))
    raise MemoryShortageError(
        f"training in batches of {batch} {shortage_text(needed, free)}; "
        f"the largest tensors of a step: {largest}",
        who=task.name,
        hint=f"a batch size of {fitting} fits" if fitting else "make its layers smaller",
        fitting=fitting,
    )


def _plan(network: Network, batch: int) -> MemoryPlan:
    samples = network.task.training
    rows = 0 if samples is None else len(samples)
    return plan_memory(network.program("train"), batch, rows, network.backend.target)


def _halves(batch: int) -> Iterator[int]:
    while batch > 1:
        batch //= 2
        yield batch


def _largest(plan: MemoryPlan) -> list[Ref]:
    found = sorted(plan.slots, key=lambda storage: -plan.slots[storage].nbytes)[:_NAMED]
    return [Ref(storage.root, storage.grad) for storage in found]
