"""The passes in order, and the way of a lowered program through them."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Iterable, MutableMapping
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import numpy.typing as npt

from studio.engine.autodiff.differentiate import differentiate
from studio.engine.compiler.passes.bucket_gradients import bucket_gradients
from studio.engine.compiler.passes.choose_layout import choose_layout
from studio.engine.compiler.passes.fold_batchnorm import Read, Scaled, fold_batchnorm
from studio.engine.compiler.passes.fold_constants import fold_constants
from studio.engine.compiler.passes.fold_scale import fold_scale
from studio.engine.compiler.passes.fuse_elementwise import fuse_elementwise
from studio.engine.compiler.passes.fuse_epilogues import fuse_epilogues
from studio.engine.compiler.passes.fuse_gradients import fuse_gradients
from studio.engine.compiler.passes.fuse_row_loss import fuse_row_loss
from studio.engine.compiler.passes.fuse_statistics import fuse_statistics
from studio.engine.compiler.passes.make_views import make_views
from studio.engine.compiler.passes.merge_updates import merge_updates
from studio.engine.compiler.passes.remove_dead_code import remove_dead_code
from studio.engine.compiler.passes.set_first_gradients import set_first_gradients
from studio.engine.compiler.passes.share_common_subexpressions import (
    share_common_subexpressions,
)
from studio.engine.compiler.passes.share_gradients import share_gradients
from studio.engine.compiler.passes.share_rows import share_rows
from studio.engine.compiler.passes.snapshot_step import snapshot_step
from studio.engine.compiler.passes.synchronize_statistics import synchronize_statistics
from studio.engine.compiler.target import Target
from studio.engine.compiler.verify import verify as verify_program
from studio.engine.core.errors import ParameterError
from studio.engine.isa.program import Program
from studio.engine.isa.text import format_program

HIGHEST_LEVEL = 2

Observer = Callable[[str, Program, Program], None]
EmitUpdates = Callable[[Program], Program]


@dataclass
class Folding:
    """Where values for folding come from, and where the folded ones go.

    Attributes:
        read: gives the value of a parameter or running statistic by name.
        values: derived parameters by name, to be written to the session that runs the program.
        scaled: weights among them as products of others.
    """

    read: Read
    values: MutableMapping[str, npt.NDArray[np.float32]] = field(default_factory=dict)
    scaled: MutableMapping[str, Scaled] = field(default_factory=dict)


@dataclass(frozen=True)
class Context:
    """What passes may know besides the program.

    Attributes:
        target: the kind of device.
        keep: tensors that must stay stored.
        folding: given where normalisations may be folded.
        workers: how many workers train together.
        synchronized: nodes whose batch normalisations use the statistics of all workers' rows.
    """

    target: Target
    keep: frozenset[int] = frozenset()
    folding: Folding | None = None
    workers: int = 1
    synchronized: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Pass:
    """One step of the pipeline.

    Attributes:
        name: the name it is switched off and shown by.
        level: lowest optimisation level it runs at.
        run: from program to program.
        note: what it does, in a few words.
    """

    name: str
    level: int
    run: Callable[[Program, Context], Program]
    note: str


def _fold_batchnorm(program: Program, context: Context) -> Program:
    if context.folding is None:
        return program
    folded = fold_batchnorm(program, context.folding.read)
    context.folding.values.update(folded.values)
    context.folding.scaled.update(folded.scaled)
    return folded.program


ALGEBRAIC: tuple[Pass, ...] = (
    Pass("fold_constants", 1, lambda p, _: fold_constants(p), "compute with constants now"),
    Pass("fold_scale", 1, lambda p, _: fold_scale(p), "factors into sums"),
    Pass(
        "share_common_subexpressions", 1, lambda p, _: share_common_subexpressions(p),
        "equal things once",
    ),
    Pass("fold_batchnorm", 2, _fold_batchnorm, "normalisations into weights (inference)"),
    Pass("make_views", 1, lambda p, _: make_views(p), "reshapes and copies as views"),
    Pass("remove_dead_code", 1, lambda p, _: remove_dead_code(p), "drop what nobody reads"),
)  # fmt: skip
"""Passes before differentiation, in order."""

JOINT: tuple[Pass, ...] = (
    Pass(
        "set_first_gradients", 1, lambda p, _: set_first_gradients(p), "first writers set gradients"
    ),
    Pass(
        "share_gradients", 2, lambda p, c: share_gradients(p, c.keep),
        "gradients of sums with a bias uncopied",
    ),
    Pass(
        "fuse_epilogues", 2, lambda p, c: fuse_epilogues(p, c.keep, c.target),
        "activations into products",
    ),
    Pass(
        "fuse_gradients", 2, lambda p, c: fuse_gradients(p, c.target, c.keep),
        "gradients of activations into products",
    ),
    Pass(
        "fuse_elementwise", 2, lambda p, c: fuse_elementwise(p, c.target, c.keep),
        "element-wise chains",
    ),
    Pass(
        "fuse_statistics", 2, lambda p, c: fuse_statistics(p, c.target),
        "statistics into products",
    ),
    Pass(
        "fuse_row_loss", 2, lambda p, c: fuse_row_loss(p, c.target),
        "losses of rows into the layer before them",
    ),
    Pass("merge_updates", 2, lambda p, _: merge_updates(p), "one update kernel"),
    Pass(
        "snapshot_step", 2, lambda p, c: snapshot_step(p, c.target),
        "a copy of the step block for the updates",
    ),
    Pass("choose_layout", 2, lambda p, c: choose_layout(p, c.target), "halos for convolutions"),
)  # fmt: skip
"""Passes on the joint program, in order."""

WORKERS: tuple[Pass, ...] = (
    Pass(
        "synchronize_statistics", 0, lambda p, c: synchronize_statistics(p, c.synchronized),
        "batch statistics of all workers' rows",
    ),
    Pass(
        "share_rows", 0, lambda p, c: share_rows(p, c.workers), "each worker has a part of the rows"
    ),
)  # fmt: skip
"""Passes on the joint program before all others where several workers train together."""

EXCHANGE: tuple[Pass, ...] = (
    Pass(
        "bucket_gradients", 0, lambda p, c: bucket_gradients(p, c.workers),
        "gradients exchanged among workers",
    ),
)  # fmt: skip
"""Passes behind all others where several workers train together."""

DIFFERENTIATE = "differentiate"
PRUNE = "prune_gradients"
EMIT_UPDATES = "emit_updates"


def pass_names() -> tuple[str, ...]:
    """Everything that can be switched off, in order."""
    return (*(p.name for p in ALGEBRAIC), PRUNE, *(p.name for p in JOINT))


def compile_program(
    program: Program,
    target: Target,
    level: int = HIGHEST_LEVEL,
    *,
    disabled: Collection[str] = (),
    verify: bool = False,
    observer: Observer | None = None,
    emit_updates: EmitUpdates | None = None,
    folding: Folding | None = None,
    keep: Iterable[int] = (),
    workers: int = 1,
    synchronized: Iterable[str] = (),
) -> Program:
    """The program a backend runs, from the one lowering made.

    Algebraic passes, then for training programs differentiation and the update section, then the
    passes on the joint program.

    Args:
        program: data, forward, loss and metrics sections.
        target: the kind of device.
        level: 0 keeps the listing as lowered and differentiates every operand; 1 adds algebra,
            views and pruned gradients; 2 fuses and chooses layouts.
        disabled: names of passes left out (see `pass_names`).
        verify: check every rule after every step.
        observer: hears name, program before and program after of every step that ran.
        emit_updates: adds the update section; without it gradients are computed and left.
        folding: lets normalisations of inference programs fold into weights.
        keep: tensors that must stay stored, such as those being viewed.
        workers: how many train together; their passes cannot be switched off.
        synchronized: nodes whose batch normalisations use the statistics of all workers' rows.

    Raises ParameterError for an unknown level or pass, GradientError and VerifyError as their steps
    do.
    """
    _check_options(level, disabled)
    context = Context(target, frozenset(keep), folding, workers, frozenset(synchronized))
    walk = _Walk(program, verify, observer)
    walk.check("lower")
    walk.run_all(_chosen(ALGEBRAIC, level, disabled), context)
    if program.mode == "train" and program.section("loss") and not program.section("backward"):
        prune = level > 0 and PRUNE not in disabled
        walk.run(DIFFERENTIATE, lambda p: differentiate(p, prune=prune))
        if emit_updates is not None:
            walk.run(EMIT_UPDATES, emit_updates)
    walk.run_all(WORKERS if workers > 1 else (), context)
    walk.run_all(_chosen(JOINT, level, disabled), context)
    walk.run_all(EXCHANGE if workers > 1 else (), context)
    return walk.program


def _chosen(steps: Iterable[Pass], level: int, disabled: Collection[str]) -> tuple[Pass, ...]:
    return tuple(p for p in steps if p.level <= level and p.name not in disabled)


class _Walk:
    """The program on its way, watched and checked after every step."""

    def __init__(self, program: Program, verify: bool, observer: Observer | None) -> None:
        self.program = program
        self.verify = verify
        self.observer = observer

    def run(self, name: str, change: Callable[[Program], Program]) -> None:
        """Take one step."""
        before = self.program
        self.program = change(before)
        self.check(name)
        if self.observer is not None:
            self.observer(name, before, self.program)

    def run_all(self, steps: Iterable[Pass], context: Context) -> None:
        """Take the steps in order."""
        for step in steps:
            self.run(step.name, partial(_run_pass, step, context))

    def check(self, name: str) -> None:
        """Verify the program where that is wanted."""
        if self.verify:
            verify_program(self.program, after=name, owned=True)


def _run_pass(step: Pass, context: Context, program: Program) -> Program:
    return step.run(program, context)


def pass_heading(name: str, before: Program, after: Program) -> str:
    """One line about a pass: its name, how many instructions it was given and made."""
    same = format_program(before) == format_program(after)
    remark = ", nothing to do" if same else ""
    return f"== {name}: {len(before)} -> {len(after)} instructions{remark}"


def diff_programs(before: Program, after: Program, *, name: str = "", context: int = 2) -> str:
    """A unified diff of two programs with tensors and sections; empty where they are equal.

    Args:
        before: the program before a pass.
        after: the program after it.
        name: the pass, for the heading.
        context: unchanged lines shown round each change.
    """
    lines = difflib.unified_diff(
        format_program(before).splitlines(),
        format_program(after).splitlines(),
        "before" + (f" {name}" if name else ""),
        "after" + (f" {name}" if name else ""),
        n=context,
        lineterm="",
    )
    return "".join(f"{line}\n" for line in lines)


def _check_options(level: int, disabled: Collection[str]) -> None:
    if not 0 <= level <= HIGHEST_LEVEL:
        raise ParameterError(f"the level must be 0 to {HIGHEST_LEVEL}: got {level}", who="compile")
    unknown = sorted(set(disabled) - set(pass_names()))
    if unknown:
        raise ParameterError(
            f"unknown pass: expected one of {', '.join(pass_names())}, got {unknown[0]!r}",
            who="compile",
        )
