"""For an interactive Python: print programs and their kernels, run a listing typed by hand.

>>> from studio.engine import debug
>>> debug.show("projects/iris/iris.glassbox", mode="infer")
>>> debug.kernels("projects/iris/iris.glassbox", source=True)
>>> debug.run(text, rows)
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from studio.engine.compiler.pipeline import HIGHEST_LEVEL
from studio.engine.compiler.plan_memory import plan_memory
from studio.engine.compiler.target import GL, TARGETS, Target
from studio.engine.compiler.verify import verify
from studio.engine.core.errors import DataError, ParameterError, quoted
from studio.engine.core.near_names import did_you_mean
from studio.engine.core.tensor import Role, Tensor
from studio.engine.formats.gbasm import load_program_file
from studio.engine.isa.program import Program
from studio.engine.isa.text import format_program, parse_program
from studio.engine.layers.initializers import initial_values
from studio.engine.train.devices import open_backend
from studio.engine.train.listing.host_traffic import resident_rows
from studio.engine.train.listing.kernel_listing import KernelListing
from studio.engine.train.network.execute import run_program
from studio.engine.train.network.programs import Programs
from studio.engine.train.project.project import Project
from studio.engine.train.project.task import Task

if TYPE_CHECKING:
    from collections.abc import Mapping

Array: TypeAlias = npt.NDArray[np.generic]
Source: TypeAlias = Project | Task | Path | str

_TARGETS = {**TARGETS, "gl": GL}
_ROWS = 4
"""Rows made up for an input that is not given."""


def show(
    program: Program | Source, mode: str = "train", target: str = "cpu", level: int = HIGHEST_LEVEL
) -> None:
    """Print a program with its tensors and sections, in the form `run` reads.

    Args:
        program: a program, or a project, task or project file to compile; the rest is for these.
        mode: ``train``, ``evaluate`` or ``infer``.
        target: ``cpu``, ``gl-hardware`` (or ``gl``) or ``gl-software``.
        level: how much is optimised, 0 to 2.

    Raises:
        StudioError: an unknown mode, target or level, or what loading and compiling refuse.
    """
    if not isinstance(program, Program):
        program = _compiled(_task(program), mode, _target(target), level)
    _say(format_program(program))


def kernels(
    project: Source,
    mode: str = "train",
    target: str = "gl-hardware",
    *,
    source: bool = False,
    in_order: bool = False,
    level: int = HIGHEST_LEVEL,
) -> None:
    """Print what runs each line of a project's program, as ``glassbox compile --kernels`` does.

    No device is opened.

    Args:
        project: a project, a task, or a project file.
        mode: ``train``, ``evaluate`` or ``infer``.
        target: ``cpu``, ``gl-hardware`` (or ``gl``) or ``gl-software``.
        source: print the text of each shader too.
        in_order: kernels one after another, with the least memory.
        level: how much is optimised, 0 to 2.

    Raises:
        StudioError: an unknown mode, target or level, or what loading and compiling refuse.
    """
    task, kind = _task(project), replace(_target(target), in_order=in_order)
    program = _compiled(task, mode, kind, level)
    plan = plan_memory(program, task.batch_rows, resident_rows(task, mode)[0], kind)
    _say(KernelListing.of(program, task, kind, plan).text(source=source))


def run(
    listing: Program | Path | str,
    *inputs: npt.ArrayLike,
    weights: Mapping[str, npt.ArrayLike] | None = None,
    backend: str = "cpu",
    seed: int = 0,
) -> dict[str, Array]:
    """Run an inference program once; its outputs by tensor name.

    Args:
        listing: a program, the text `show` prints, or a ``.gbasm`` or ``.gbi`` file.
        inputs: [rows, …] for each input; without any, four rows of normal numbers (zeros where
            the input holds integers).
        weights: parameters and statistics by tensor name; those that are left out are the file's,
            else what they are before training.
        backend: ``cpu``, ``gl`` or ``auto``.
        seed: of weights and inputs that are made up.

    Raises:
        StudioError: the listing is damaged or breaks a rule, or inputs or weights do not fit.
    """
    program, stored = _read(listing)
    if program.mode != "infer":
        raise DataError(
            f"expected an inference program, got one of mode {quoted(program.mode)}",
            who=program.name,
            hint='compile it with mode="infer"',
        )
    held = program.of_role(Role.PARAM, Role.STATE)
    given = {name: np.asarray(values) for name, values in (weights or {}).items()}
    _check_names(given, held, program.name)
    values = {
        tensor.name: _fitting(tensor, {**stored, **given}, seed)
        for tensor in held
        if tensor.view_of is None
    }
    rows = [np.asarray(each) for each in inputs] or _made_up(program, seed)
    with open_backend(backend) as opened:
        found = run_program(opened.backend, program, values, rows)
    names = [program.tensors[output].name for output in program.outputs]
    return dict(zip(names, found, strict=True))


def _task(project: Source) -> Task:
    if isinstance(project, Task):
        return project
    return Task.of_project(project if isinstance(project, Project) else Project.load(project))


def _target(name: str) -> Target:
    if name not in _TARGETS:
        raise ParameterError(
            f"expected one of {', '.join(_TARGETS)}, got {quoted(name)}",
            who="target",
            hint=did_you_mean(name, _TARGETS),
        )
    return _TARGETS[name]


def _compiled(task: Task, mode: str, target: Target, level: int) -> Program:
    modes = ("train", "evaluate", "infer")
    if mode not in modes:
        raise ParameterError(
            f"expected one of {', '.join(modes)}, got {quoted(mode)}",
            who="mode",
            hint=did_you_mean(mode, modes),
        )
    return Programs(task).compile(mode, level, target)


def _read(listing: Program | Path | str) -> tuple[Program, Mapping[str, Array]]:
    if isinstance(listing, Program):
        return listing, {}
    # No file name holds a line break, and no listing is a single line.
    if isinstance(listing, str) and "\n" in listing.strip():
        program, weights = parse_program(listing, "listing"), dict[str, Array]()
    else:
        found = load_program_file(listing)
        program, weights = found.program, dict(found.weights)
    verify(program, after="reading the listing")
    return program, weights


def _check_names(given: Mapping[str, Array], held: tuple[Tensor, ...], who: str) -> None:
    names = [tensor.name for tensor in held]
    for name in given:
        if name not in names:
            raise DataError(
                f"there is no weight {quoted(name)}", who=who, hint=did_you_mean(name, names)
            )


def _fitting(tensor: Tensor, known: Mapping[str, Array], seed: int) -> Array:
    """The values of a weight in its own type."""
    if tensor.name not in known:
        return initial_values(tensor, seed)
    values = known[tensor.name].astype(tensor.dtype.np, copy=False)
    if values.shape != tensor.shape:
        raise DataError(
            f"{quoted(tensor.name)}: expected shape {list(tensor.shape)}, got {list(values.shape)}",
            who="weights",
        )
    return values


def _made_up(program: Program, seed: int) -> list[Array]:
    rng = np.random.default_rng(seed)
    made: list[Array] = []
    for index in program.inputs:
        tensor = program.tensors[index]
        shape = tensor.type.bind(_ROWS).shape
        values = rng.standard_normal(shape) if tensor.dtype.np.kind == "f" else np.zeros(shape)
        made.append(values.astype(tensor.dtype.np))
    return made


def _say(text: str) -> None:
    sys.stdout.write(text if text.endswith("\n") else text + "\n")
