"""The programs of a task: lowered, differentiated, given their updates, and optimised."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from studio.engine.compiler.lower import lower
from studio.engine.compiler.pipeline import Folding, Observer, compile_program
from studio.engine.compiler.target import CPU, Target
from studio.engine.core.tensor import Role
from studio.engine.isa.program import Program
from studio.engine.layers.lengths import Lengths
from studio.engine.optim.emit_updates import emit_updates
from studio.engine.runtime.live_places import find_ref
from studio.engine.train.listing.debug_output import told_passes
from studio.engine.train.project.task import Task


class Programs:
    """Makes the programs of a task, each once.

    Args:
        task: network, objective and form of the data.
        workers: how many train together.
    """

    def __init__(self, task: Task, workers: int = 1) -> None:
        self.workers = workers
        self._tasks: dict[Lengths, Task] = {(): task}
        self._made: dict[tuple[str, int, Target, Lengths, frozenset[str]], Program] = {}
        self._kept: dict[str, frozenset[str]] = {}

    def task(self, lengths: Lengths = ()) -> Task:
        """The task for unknown lengths; without any that of the task's own."""
        if lengths not in self._tasks:
            self._tasks[lengths] = self._tasks[()].for_lengths(lengths)
        return self._tasks[lengths]

    def forget(self, lengths: Lengths) -> None:
        """Give up what was made for lengths."""
        self._tasks.pop(lengths, None)
        for key in [key for key in self._made if key[3] == lengths]:
            del self._made[key]

    def own_tensors(self, lengths: Lengths) -> set[str]:
        """Names of the data, order and constants that only programs for these lengths have."""
        mine = f"-{self.task(lengths).spec.variant}"
        found = (t for key, made in self._made.items() if key[3] == lengths for t in
                 made.of_role(Role.DATA, Role.CONST))  # fmt: skip
        return {t.name for t in found if mine in t.name}

    def lowered(self, mode: str, lengths: Lengths = ()) -> Program:
        """The program of a mode as lowering makes it; CompileError where a loss is missing."""
        task = self.task(lengths)
        if mode == "masks":
            return lower(task.graph, "infer", data=task.spec, masks=True)
        objective = mode != "infer" and task.has_objective
        return lower(
            task.graph,
            mode,
            loss=list(task.losses) if objective else None,
            metrics=task.metrics if objective else (),
            loss_weights=task.loss_weights if objective else (),
            weighted_metrics=task.weighted_metrics if objective else (),
            data=task.spec,
        )

    def program(
        self, mode: str, level: int = 2, target: Target = CPU, lengths: Lengths = ()
    ) -> Program:
        """The program a backend runs.

        Args:
            mode: ``train``, ``evaluate``, ``infer``, or ``masks`` for the masks of the outputs.
            level: how much is optimised, 0 to 2.
            target: the kind of device.
            lengths: numbers for the network's unknown lengths; the task's own unless given.
        """
        # What was made to keep fewer tensors stays until its lengths are given up: the device
        # still holds its data.
        kept = self.kept(mode) if lengths else frozenset()
        key = (mode, level, target, lengths, kept)
        if key not in self._made:
            made = self.compile(mode, level, target, keep=kept, lengths=lengths)
            self._made[key] = _with_own_constants(made, self.task(lengths).spec.variant)
        return self._made[key]

    def compile(
        self,
        mode: str,
        level: int = 2,
        target: Target = CPU,
        *,
        disabled: Collection[str] = (),
        verify: bool = False,
        observer: Observer | None = None,
        folding: Folding | None = None,
        keep: Collection[str] = (),
        lengths: Lengths = (),
    ) -> Program:
        """A program compiled again, with the options of `pipeline.compile_program`.

        ``keep`` names tensors that must stay stored; NotThereError for one that does not exist.
        """
        optimizer = self.task().settings.optimizer
        lowered = self.lowered(mode, lengths)
        return compile_program(
            lowered,
            target,
            level,
            disabled=disabled,
            verify=verify,
            observer=told_passes(observer),
            emit_updates=lambda program: emit_updates(program, optimizer),
            folding=folding,
            keep=[find_ref(lowered, name, grad=False).id for name in sorted(keep)],
            workers=self.workers,
            synchronized=self.task(lengths).graph.synchronized_nodes,
        )

    def kept(self, mode: str) -> frozenset[str]:
        """Names of the tensors the program of a mode was told to keep."""
        return self._kept.get(mode, frozenset())

    def keep(
        self, mode: str, level: int, target: Target, names: frozenset[str], program: Program
    ) -> None:
        """Take a program that keeps tensors of these names for the one of its mode.

        Programs of other lengths keep them, too.
        """
        self._made[mode, level, target, (), frozenset()] = program
        self._kept[mode] = names

    def passes(
        self, mode: str, level: int = 2, target: Target = CPU
    ) -> list[tuple[str, Program, Program]]:
        """Name, program before and program after of every step of the compiler."""
        steps: list[tuple[str, Program, Program]] = []
        self.compile(mode, level, target, observer=lambda *step: steps.append(step), verify=True)
        return steps


def _with_own_constants(program: Program, variant: str) -> Program:
    """The program with names of its own for constants, whose values may follow from a length.

    ``variant`` is that of the data (`DataSpec.variant`); without one the program stays as it is.
    """
    if not variant:
        return program
    own = [t.replace(name=f"{t.name}-{variant}") for t in program.of_role(Role.CONST)]
    return replace(program, tensors=program.tensors.update(own))
