"""Runs an instruction file that carries weights on raw rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from studio.engine.compiler.verify import verify
from studio.engine.core.errors import DataError, FormatError, quoted
from studio.engine.core.tensor import Role
from studio.engine.formats.gbasm import load_program_file
from studio.engine.formats.gbi import ProgramFile
from studio.engine.interop.program_names import input_names, output_names
from studio.engine.isa.ops.exchange import AllReduce
from studio.engine.isa.program import Program
from studio.engine.runtime.backend import Backend, BackendSession
from studio.engine.train.devices import open_backend
from studio.engine.train.network.inference import Inference

Array: TypeAlias = npt.NDArray[np.generic]

_NEEDS_WEIGHTS = (Role.PARAM, Role.STATE)


def execute(
    path: Path | str,
    rows: Array | list[Array],
    backend: Backend | str = "auto",
    progress: Callable[[int, int], None] | None = None,
) -> Array:
    """The first output of an instruction file for raw rows; `execute_all` gives every output.

    Args:
        path: a ``.gbi`` (or a ``.gbasm`` without parameters) of an inference program.
        rows: [rows, …] in the input's own type, any number of rows; one array per input.
        backend: an open backend, or the choice of one as in `open_backend`.
        progress: hears (rows done, rows in all).

    Raises:
        FormatError: the file is damaged, or carries no weights.
        VerifyError: its program breaks a rule.
        DataError: the rows do not fit.
    """
    return next(iter(execute_all(path, rows, backend, progress).values()))


def execute_all(
    path: Path | str | ProgramFile,
    rows: Array | Sequence[Array] | Mapping[str, Array],
    backend: Backend | str = "auto",
    progress: Callable[[int, int], None] | None = None,
) -> dict[str, Array]:
    """Every output of an instruction file by name, for raw rows; raises what `execute` raises.

    Args:
        path: as for `execute`, or what `runnable_file` gave.
        rows: [rows, …] in the input's own type: one array, a list with one for each input in the
            program's order, or arrays by the names of inputs.
        backend: as for `execute`.
        progress: as for `execute`.
    """
    found = path if isinstance(path, ProgramFile) else runnable_file(path)
    inputs = _in_order(found.program, rows)
    with ExitStack() as stack:
        if isinstance(backend, str):
            backend = stack.enter_context(open_backend(backend)).backend
        outputs = run_program(backend, found.program, found.weights, inputs, progress)
    return dict(zip(output_names(found.program), outputs, strict=True))


def runnable_file(path: Path | str) -> ProgramFile:
    """An inference program with its weights from a file, verified; raises as `execute`."""
    found = load_program_file(path)
    verify(found.program, after=f"reading {Path(path).name}")
    _check_runnable(found.program, found.weights, str(path))
    return found


def _in_order(program: Program, rows: Array | Sequence[Array] | Mapping[str, Array]) -> list[Array]:
    """One array for each input, in the program's order."""
    if not isinstance(rows, Mapping):
        return [rows] if isinstance(rows, np.ndarray) else list(rows)
    names = input_names(program)
    missing = next((name for name in names if name not in rows), None)
    if missing is not None:
        held = ", ".join(quoted(name) for name in list(rows)[:12]) or "none"
        raise DataError(
            f"there is no array for the input {quoted(missing)}: the arrays are {held}",
            who=program.name,
        )
    return [rows[name] for name in names]


def run_program(
    backend: Backend,
    program: Program,
    weights: Mapping[str, Array],
    inputs: list[Array],
    progress: Callable[[int, int], None] | None = None,
) -> list[Array]:
    """Every output of an inference program with its weights, in a session of its own.

    Lines of its setup section run once, and what only they read is dropped then.
    """
    once, repeated = program.divided()
    session = backend.open_session()
    try:
        tensors = program.of_role(*_NEEDS_WEIGHTS)
        session.ensure(tensors)
        for tensor in tensors:
            session.write(tensor.name, np.ascontiguousarray(weights[tensor.name]))
        if once is not None:
            _run_once(backend, once, session)
            session.drop(t.name for t in tensors if t.id not in repeated.tensors)
        with Inference(backend, repeated, session) as inference:
            return inference.run(inputs, progress)
    finally:
        session.close()


def _run_once(backend: Backend, program: Program, session: BackendSession) -> None:
    executable = backend.compile(program, session, 1)
    try:
        executable.run()
        executable.finish()
    finally:
        executable.close()


def _check_runnable(program: Program, weights: Mapping[str, Array], who: str) -> None:
    if program.mode != "infer":
        raise DataError(
            f"expected an inference program, got one of mode {quoted(program.mode)}",
            who=who,
            hint="write one with: glassbox export PROJECT --format gbi -o FILE.gbi",
        )
    if any(isinstance(ins, AllReduce) for ins in program):
        raise DataError(
            "its ALLREDUCE lines bring the workers of a training together",
            who=who,
            hint="compile it for one worker",
        )
    missing = [t.name for t in program.of_role(*_NEEDS_WEIGHTS) if t.name not in weights]
    if missing:
        raise FormatError(
            f"the file carries no weights for {quoted(missing[0])}",
            who=who,
            hint="export a trained project with --format gbi",
        )
