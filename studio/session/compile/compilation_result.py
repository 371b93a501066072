"""What a compile of the document gives: its programs with provenance, memory plan and passes."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from studio.engine.compiler.plan_memory import MemoryPlan, plan_memory
from studio.engine.compiler.target import Target
from studio.engine.core.errors import StudioError
from studio.engine.isa.program import Program
from studio.engine.train.data.dataset import Dataset
from studio.engine.train.listing.host_traffic import resident_rows
from studio.engine.train.network.programs import Programs
from studio.engine.train.project.data_settings import DataSettings
from studio.engine.train.project.project import Project
from studio.engine.train.project.task import Task
from studio.session.compile.provenance import Provenance
from studio.session.listing.arrangement import Arranger
from studio.session.listing.kernels import Kernels, numpy_kernels
from studio.session.listing.passes.pass_steps import PassStep, pass_steps
from studio.session.listing.row_changes import NO_CHANGES, row_changes
from studio.session.listing.rows import ProgramRows
from studio.session.listing.tensor_map.memory_picture import MemoryPicture
from studio.session.listing.tensor_map.rows import TensorRow, tensor_rows

ProgramMode: TypeAlias = Literal["train", "infer"]
OpenData: TypeAlias = Callable[[DataSettings, Path], Dataset]
Checkpoint: TypeAlias = Callable[[str], object]
"""Told what comes next; raises where the work is to stop."""

Stage = tuple[str, Program, Program]


def open_data(settings: DataSettings, folder: Path) -> Dataset:
    """Open a data set, without a cache."""
    return settings.open(folder)


class Sizes(NamedTuple):
    """What a program was compiled and planned for.

    Attributes:
        target: the kind of device.
        level: how much was optimised.
        batch: rows the batch symbol stands for in plan and costs.
        data_rows: rows of the resident data set.
        names: what the user calls layers, by id.
    """

    target: Target
    level: int
    batch: int
    data_rows: int
    names: tuple[tuple[str, str], ...] = ()


class CompiledProgram:
    """One program and what the views show of it.

    Args:
        program: as the backend runs it.
        sizes: what it was compiled and planned for.
        stages: what every pass was given and gave.
        kernels: its dispatches, where they are known.
    """

    def __init__(
        self,
        program: Program,
        sizes: Sizes,
        stages: tuple[Stage, ...] = (),
        kernels: Kernels | None = None,
    ) -> None:
        self.program = program
        self.sizes = sizes
        target, batch, data_rows = sizes.target, sizes.batch, sizes.data_rows
        self.kernels = numpy_kernels(program) if target.name == "cpu" else kernels
        self.provenance = Provenance(program, self.kernels.counts() if self.kernels else None)
        self.plan: MemoryPlan = plan_memory(program, batch, data_rows, target)
        self.arena_in_order: int = self.plan.total_bytes
        """Bytes of the arena if kernels ran one after another, in program order."""
        if program.mode == "train" and not target.in_order:
            one = replace(target, in_order=True)
            self.arena_in_order = plan_memory(program, batch, data_rows, one).total_bytes
        names = dict(sizes.names)
        self.rows = ProgramRows(program, self.provenance, batch, data_rows, names)
        self.rows.prepare()
        self.arranger = Arranger(self.rows)
        self.arranger.prepare()
        self.before: ProgramRows | None = None
        self.changes = NO_CHANGES
        self._stages = stages

    def compare(self, before: CompiledProgram) -> None:
        """Work out what has changed since another compile."""
        self.before, self.changes = before.rows, row_changes(before.rows, self.rows)

    @property
    def target(self) -> Target:
        """The kind of device it was compiled for."""
        return self.sizes.target

    @property
    def level(self) -> int:
        """How much was optimised."""
        return self.sizes.level

    @property
    def batch(self) -> int:
        """Rows the batch symbol stands for in plan and costs."""
        return self.sizes.batch

    @property
    def data_rows(self) -> int:
        """Rows of the resident data set."""
        return self.sizes.data_rows

    @cached_property
    def passes(self) -> tuple[PassStep, ...]:
        """Every pass with the program before and after it."""
        return pass_steps(self._stages, self.batch, self.data_rows)

    @cached_property
    def tensors(self) -> tuple[TensorRow, ...]:
        """The tensor map as a table."""
        return tensor_rows(self.rows, self.plan, self.target)

    @cached_property
    def picture(self) -> MemoryPicture:
        """The arena over the course of the program."""
        return MemoryPicture(self.rows, self.plan)

    @property
    def knows_kernels(self) -> bool:
        """Whether every dispatch is known, and not only a name for each entry."""
        return self.kernels is not None and self.kernels.is_exact

    def with_kernels(self, kernels: Kernels) -> CompiledProgram:
        """The same program with the dispatches a device has made of it."""
        made = copy(self)
        made.kernels = kernels
        made.provenance = Provenance(self.program, kernels.counts())
        return made

    def comes_of(self, program: Program, sizes: Sizes) -> bool:
        """Whether a program compiled for these sizes would be the one shown."""
        return (
            self.sizes == sizes
            and self.program == program
            and [line.owners for line in self.program] == [line.owners for line in program]
        )


@dataclass(frozen=True, eq=False)
class Compiled:
    """The programs of one state of the document.

    Attributes:
        state: the document it was made of.
        task: what can be trained: network, objective, data.
        programs: by mode; no ``train`` without data.
        took_ms: time the compile took, milliseconds.
        data_error: why the data could not be opened; then there is only the inference program.
        ended: when the compile ended, by `time.monotonic`.
    """

    state: object
    task: Task
    programs: Mapping[ProgramMode, CompiledProgram]
    took_ms: float
    data_error: StudioError | None = None
    ended: float = field(default_factory=time.monotonic)

    @property
    def main(self) -> CompiledProgram:
        """The training program, or the one for inference where there is no data."""
        return self.programs.get("train") or self.programs["infer"]

    @property
    def program(self) -> Program:
        """The program of `main`."""
        return self.main.program

    @property
    def provenance(self) -> Provenance:
        """The provenance of `main`."""
        return self.main.provenance

    @property
    def plan(self) -> MemoryPlan:
        """The memory plan of `main`."""
        return self.main.plan

    def with_program(self, mode: ProgramMode, program: CompiledProgram) -> Compiled:
        """The same compile with one program shown otherwise."""
        made = {**self.programs, mode: program}
        return replace(self, programs=made)


class Compiler:
    """Compiles projects one after another; data is opened and divided only when it changes.

    Args:
        dataset: gives the data set of a project's data section; may keep it open.
    """

    def __init__(self, dataset: OpenData = open_data) -> None:
        self._dataset = dataset
        self._last: tuple[object, Task] | None = None

    def compile(
        self,
        project: Project,
        state: object,
        target: Target,
        level: int | None,
        keep: frozenset[str],
        checkpoint: Checkpoint,
        before: Compiled | None = None,
    ) -> Compiled:
        """Make the programs of a project.

        Args:
            state: the document it is a picture of.
            level: how much to optimise; None for what the project says.
            keep: names of tensors that must stay stored, because they are being looked at.
            checkpoint: told every step; raises to stop.
            before: the result shown now; programs that come out the same are taken from it.

        Raises:
            StudioError: what graph, settings or compiler find wrong.
        """
        began = time.perf_counter()
        checkpoint("open the data")
        task, problem = self._task(project)
        level = task.settings.level if level is None else level
        programs: dict[ProgramMode, CompiledProgram] = {}
        modes: tuple[ProgramMode, ...] = ("train", "infer") if task.has_objective else ("infer",)
        for mode in modes:
            known = None if before is None else before.programs.get(mode)
            sizes = Sizes(target, level, *_sizes(task, mode), _names(task))
            programs[mode] = _compiled(task, mode, sizes, keep, checkpoint, known)
        took = (time.perf_counter() - began) * 1e3
        return Compiled(state, task, programs, took, problem)

    def _task(self, project: Project) -> tuple[Task, StudioError | None]:
        if project.data is None:
            return Task.of_project(project), None
        try:
            dataset = self._dataset(project.data, project.folder)
        except StudioError as error:
            bare = Project(project.name, project.graph, None, project.training, path=project.path)
            return Task.of_project(bare), error
        # The data set is part of the key and so kept alive: its identity cannot be given again.
        settings = project.training
        divided = (
            settings.validation, settings.validation_fraction, repr(settings.class_weights),
        )  # fmt: skip
        key = (dataset, repr(project.data.to_json()), divided)
        last = self._last
        if last is not None and last[0] == key:
            task = last[1].with_network(project)
        else:
            task = Task.of_project(project, dataset)
        self._last = (key, task)
        return task, None


def _compiled(
    task: Task,
    mode: ProgramMode,
    sizes: Sizes,
    keep: frozenset[str],
    checkpoint: Checkpoint,
    known: CompiledProgram | None,
) -> CompiledProgram:
    """A program with its plan; the one known already, if it comes out the same."""
    stages: list[Stage] = []

    def note(name: str, before: Program, after: Program) -> None:
        stages.append((name, before, after))
        checkpoint(f"after {name}")

    checkpoint("lower the network")
    maker = Programs(task)
    names = keep & {t.name for t in maker.lowered(mode).tensors.values()} if keep else keep
    program = maker.compile(mode, sizes.level, sizes.target, observer=note, keep=names)
    if known is not None and known.comes_of(program, sizes):
        return known
    checkpoint("plan the memory")
    made = CompiledProgram(program, sizes, tuple(stages))
    if known is not None:
        made.compare(known)
    return made


def _names(task: Task) -> tuple[tuple[str, str], ...]:
    """Names of layers by the id of their node; a layer used at several nodes is told by the id."""
    nodes = task.graph.nodes.values()
    uses = Counter(id(node.layer) for node in nodes)
    return tuple((node.id, node.layer.name) for node in nodes if uses[id(node.layer)] == 1)


def _sizes(task: Task, mode: ProgramMode) -> tuple[int, int]:
    """Rows of a batch and of the resident data, as a training takes them."""
    return task.batch_rows, resident_rows(task, mode)[0]
