"""Runs an inference program on any number of rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from studio.engine.compiler.plan_memory import plan_memory
from studio.engine.core.closing import Closing
from studio.engine.core.errors import DataError, quoted
from studio.engine.core.tensor import BATCH, Ref, Tensor, shape_text
from studio.engine.interop.program_names import input_names
from studio.engine.isa.program import Program
from studio.engine.runtime.backend import Backend, BackendSession, Executable
from studio.engine.runtime.free_memory import require_memory
from studio.engine.runtime.peaks import is_gpu
from studio.engine.runtime.requirements import persistent_tensors
from studio.engine.train.data.stored_rows import SampleArray, StoredRows
from studio.engine.train.listing.debug_output import told_steps

Array: TypeAlias = npt.NDArray[np.generic]

LARGEST_BATCH = 256
_COPIES = 3
"""A result is held as fetched, without the rows that filled the batch up, and joined."""
_WORTH_A_PLAN = 32 << 20
"""Bytes of all tensors; with fewer no plan is made only to ask whether there is room."""


class Inference(Closing):
    """A program that is fed rows and gives outputs; a context manager.

    Rows run in batches whose lengths are powers of two, the last filled up with zeros that are
    dropped again: rows do not touch one another, and few lengths have to be compiled. A program
    with an input or output that has no batch dimension runs once, on whole arrays.

    Args:
        backend: where it runs.
        program: an ``infer`` program, or another that the caller feeds.
        session: holds its parameters; stays the caller's.
    """

    def __init__(self, backend: Backend, program: Program, session: BackendSession) -> None:
        self.program = program
        self._backend = backend
        self._session = session
        self._executables: dict[int, Executable] = {}
        if not program.inputs or not program.outputs:
            raise DataError("the program has no input to feed or no output", who=program.name)

    def run(
        self,
        inputs: Sequence[SampleArray],
        progress: Callable[[int, int], None] | None = None,
        most_rows: int | None = None,
    ) -> list[Array]:
        """Outputs [rows, …] for inputs [rows, …] in the program's own types.

        Outputs are float32, or in their own type where that holds whole numbers or bools.
        Dimensions of length 1 behind the first may be missing or too many; float64 is taken as
        float32. ``progress`` hears (rows done, rows in all). A batch has at most ``most_rows``.
        DataError where an input does not fit.
        """
        most = most_rows or LARGEST_BATCH
        tensors = [self.program.tensors[i] for i in self.program.inputs]
        if self._is_whole:
            return self._run_whole(tensors, [each[:] for each in inputs])
        if len(inputs) == len(tensors):
            inputs = [_fitted(t, each) for t, each in zip(tensors, inputs, strict=True)]
        count = self._checked_count(tensors, inputs)
        if count:
            self._require_room(count, most)
        parts: list[list[Array]] = []
        done = 0
        while done < count:
            batch = _batch_length(count - done, most)
            rows = min(batch, count - done)
            parts.append(self._run_batch(tensors, inputs, done, rows, batch))
            done += rows
            if progress is not None:
                progress(done, count)
        if not parts:
            return [self._empty(i) for i in self.program.outputs]
        return [_widened(np.concatenate(each)) for each in zip(*parts, strict=True)]

    def close(self) -> None:
        """Give the executables back; more than once does nothing."""
        for executable in self._executables.values():
            executable.close()
        self._executables.clear()

    @property
    def _is_whole(self) -> bool:
        """Whether rows cannot be run in batches: an input or output has no batch dimension."""
        ids = (*self.program.inputs, *self.program.outputs)
        return any(self.program.tensors[i].shape[:1] != (BATCH,) for i in ids)

    def _run_whole(self, tensors: list[Tensor], inputs: Sequence[Array]) -> list[Array]:
        """Outputs of one run on whole arrays, none of them filled up or cut."""
        counted = [len(v) for t, v in zip(tensors, inputs, strict=False)
                   if t.shape[:1] == (BATCH,) and v.ndim]  # fmt: skip
        rows = counted[0] if counted else 1
        shapes = [tuple(rows if n == BATCH else n for n in t.shape) for t in tensors]
        wanted = [(shape, t.dtype.np) for shape, t in zip(shapes, tensors, strict=True)]
        given = [(values.shape, values.dtype) for values in inputs]
        if given != wanted or not rows:
            shown = (
                ", ".join(f"{dtype.name}{shape_text(shape)}" for shape, dtype in given) or "none"
            )
            named = ", ".join(f"{t.dtype.name}{shape_text(t.shape)}" for t in tensors)
            raise DataError(f"expected input arrays {named}, got {shown}", who=self.program.name)
        self._require_room(rows, rows)
        executable = self._executable(rows)
        for tensor, values in zip(tensors, inputs, strict=True):
            executable.feed(tensor.id, np.ascontiguousarray(values))
        executable.run()
        futures = [executable.fetch(Ref(i)) for i in self.program.outputs]
        return [_widened(np.array(future.result())) for future in futures]

    def _require_room(self, count: int, most_rows: int) -> None:
        """BackendError, before anything is allocated, where step and results need too much."""
        program, batch = self.program, _batch_length(count, most_rows)
        results = sum(_bytes_of(program.tensors[i], count) for i in program.outputs)
        needed = _COPIES * results
        if not is_gpu(self._backend):
            kept = [t for t in persistent_tensors(program) if not self._session.has(t.name)]
            most = sum(_bytes_of(tensor, batch) for tensor in program.tensors.values())
            if most >= _WORTH_A_PLAN:
                needed += plan_memory(program, batch, 0, self._backend.target).total_bytes
                needed += sum(_bytes_of(tensor, batch) for tensor in kept)
        rows = f"{count} row{'' if count == 1 else 's'}"
        require_memory(needed, f"running {quoted(program.name)} on {rows}")

    def _run_batch(
        self,
        tensors: list[Tensor],
        inputs: Sequence[SampleArray],
        start: int,
        rows: int,
        batch: int,
    ) -> list[Array]:
        executable = self._executable(batch)
        for tensor, values in zip(tensors, inputs, strict=True):
            part = np.zeros((batch, *values.shape[1:]), tensor.dtype.np)
            part[:rows] = values[start : start + rows]
            executable.feed(tensor.id, part)
        executable.run()
        futures = [executable.fetch(Ref(i)) for i in self.program.outputs]
        return [np.array(future.result()[:rows]) for future in futures]

    def _executable(self, batch: int) -> Executable:
        if batch not in self._executables:
            made = self._backend.compile(self.program, self._session, batch)
            self._executables[batch] = told_steps(made, self._backend)
        return self._executables[batch]

    def _empty(self, output: int) -> Array:
        tensor = self.program.tensors[output]
        return _widened(np.empty((0, *tensor.shape[1:]), tensor.dtype.np))

    def _checked_count(self, tensors: list[Tensor], inputs: Sequence[SampleArray]) -> int:
        if len(inputs) != len(tensors):
            raise DataError(
                f"expected {len(tensors)} input arrays, got {len(inputs)}", who=self.program.name
            )
        names = input_names(self.program) if len(tensors) > 1 else ("",)
        for name, tensor, values in zip(names, tensors, inputs, strict=True):
            if values.ndim != len(tensor.shape) or values.shape[1:] != tensor.shape[1:]:
                rows = f"rows of {quoted(name)}" if name else "rows"
                raise DataError(
                    f"{rows} must have shape {shape_text(tensor.shape)}, got "
                    f"{shape_text(values.shape)}",
                    who=self.program.name,
                )
            if values.dtype != tensor.dtype.np:
                raise DataError(
                    f"rows must be {tensor.dtype.name}, got {values.dtype.name}",
                    who=self.program.name,
                    hint=f"convert them first: rows.astype('{tensor.dtype.name}')",
                )
        counts = {len(values) for values in inputs}
        if len(counts) > 1:
            raise DataError(
                f"all inputs need the same number of rows, got {sorted(counts)}",
                who=self.program.name,
            )
        return counts.pop()


def _widened(values: Array) -> Array:
    """Floats as float32, others as they are."""
    return values.astype(np.float32, copy=False) if values.dtype.kind == "f" else values


def _fitted(tensor: Tensor, values: SampleArray) -> SampleArray:
    """Rows with the dimensions of length 1 that the input has; unchanged if more differs."""
    if isinstance(values, StoredRows):
        return values
    wide = np.dtype(np.float64)
    if values.dtype == wide and tensor.dtype.np == np.dtype(np.float32):
        with np.errstate(over="ignore"):
            values = values.astype(np.float32)
    long, given = tensor.shape[1:], values.shape[1:]
    if (
        values.ndim
        and given != long
        and [n for n in given if n != 1] == [n for n in long if n != 1]
    ):
        return values.reshape(len(values), *long)
    return values


def _bytes_of(tensor: Tensor, rows: int) -> int:
    return tensor.numel(rows, 1) * tensor.dtype.itemsize


def _batch_length(rows: int, most: int) -> int:
    """The power of two a batch of ``rows`` runs with, at most ``most``."""
    return min(most, 1 << (rows - 1).bit_length())
