"""``glassbox sweep``: trains a project many times with other settings, and compares the results."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from studio.cli import console
from studio.cli.app import CHECK_FAILED
from studio.cli.options import JsonOption, ProjectArgument, check_trust, find_project, load_trusted
from studio.engine.core.errors import ParameterError, StudioError
from studio.engine.scale.sweep.control import SweepControl, follow
from studio.engine.scale.sweep.folder import (
    Plan,
    SweepFolder,
    TrialRow,
    find_sweep,
    ranked,
    read_plan,
)
from studio.engine.scale.sweep.planning import (
    Wishes,
    default_workers,
    kept_of,
    make_plan,
    require_packages,
    require_same,
)
from studio.engine.scale.sweep.search_space import shown
from studio.engine.scale.sweep.workers import LocalPool, Pool
from studio.engine.train.project.project import Project

if TYPE_CHECKING:
    from studio.engine.scale.sweep.cluster import ClusterPool
    from studio.engine.scale.sweep.coordinator import Coordinator

_MOST_SHOWN = 40

VaryOption = Annotated[
    list[str] | None,
    typer.Option(
        "--vary",
        help="What varies: a setting, an optimiser's option or LAYER.OPTION, and its values: "
        "8,16,32 or 0.1..0.5 or log:1e-4..1e-1. May be given several times.",
        metavar="NAME=VALUES",
    ),
]
TrialsOption = Annotated[
    int | None, typer.Option("--trials", help="How many trials in all.", metavar="N")
]
ObjectiveOption = Annotated[
    str | None,
    typer.Option(
        "--objective", help="What trials are compared by; val_loss unless given.", metavar="NAME"
    ),
]
MaximizeOption = Annotated[
    bool | None,
    typer.Option(
        "--maximize/--minimize", help="Which way is better; as the metric has it unless given."
    ),
]
SamplerOption = Annotated[
    str | None,
    typer.Option("--sampler", help="How values are chosen.", metavar="tpe|random|grid"),
]
PruneOption = Annotated[
    str | None, typer.Option("--prune", help="End hopeless trials early.", metavar="none|asha")
]
SeedsOption = Annotated[
    int | None, typer.Option("--seeds", help="Train each trial with so many seeds.", metavar="K")
]
WorkersOption = Annotated[
    int | None, typer.Option("--workers", help="Trials at once.", metavar="N")
]
ClusterOption = Annotated[
    str | None,
    typer.Option(
        "--cluster", help="Train on a Dask cluster of yours, by its address.", metavar="ADDRESS"
    ),
]
ThreadsOption = Annotated[
    int | None, typer.Option("--threads", help="Threads of each trial.", metavar="N")
]
HoursOption = Annotated[
    float | None,
    typer.Option("--max-hours", help="Begin no trial after so many hours.", metavar="H"),
]
SynchronousOption = Annotated[
    bool | None,
    typer.Option(
        "--synchronous",
        help="Choose values in rounds of as many trials as there are workers, so that TPE and "
        "pruning give the same table again.",
    ),
]
ChoiceSeedOption = Annotated[
    int | None, typer.Option("--seed", help="Seed of the choice of values.", metavar="N")
]
DeviceOption = Annotated[
    str | None, typer.Option("--backend", help="Device: auto, gl or cpu.", metavar="auto|gl|cpu")
]
KeepOption = Annotated[
    str | None,
    typer.Option("--keep", help="How many of the best trials keep their weights.", metavar="N|all"),
]
ResumeOption = Annotated[
    bool, typer.Option("--resume", help="Continue the last sweep of the project.")
]
NameOption = Annotated[
    str | None,
    typer.Option(
        "--name", help="With --resume: which sweep, by the time in its name.", metavar="TIME"
    ),
]
OwnedOption = Annotated[
    bool,
    typer.Option(
        "--owned",
        hidden=True,
        help="Say where the sweep is, take pause, resume and stop on standard input, and stop at "
        "its end.",
    ),
]


def sweep(
    project: ProjectArgument,
    vary: VaryOption = None,
    trials: TrialsOption = None,
    objective: ObjectiveOption = None,
    maximize: MaximizeOption = None,
    sampler: SamplerOption = None,
    prune: PruneOption = None,
    seeds: SeedsOption = None,
    workers: WorkersOption = None,
    cluster: ClusterOption = None,
    threads: ThreadsOption = None,
    max_hours: HoursOption = None,
    synchronous: SynchronousOption = None,
    seed: ChoiceSeedOption = None,
    backend: DeviceOption = None,
    keep: KeepOption = None,
    resume: ResumeOption = False,
    name: NameOption = None,
    owned: OwnedOption = False,
    as_json: JsonOption = False,
) -> None:
    """Train a project many times with other settings, each a run of its own, and compare them.

    Exit code 1: no trial reached a value.
    """
    wishes = Wishes(
        vary or (), objective, maximize, sampler, prune, trials, seeds, workers, threads,
        synchronous, seed, backend, None if keep is None else kept_of(keep),
    )  # fmt: skip
    seconds = _seconds(max_hours)
    if name is not None and not resume:
        raise ParameterError("only a sweep that is continued has a name", who="--name",
                             hint="add --resume")  # fmt: skip
    control = SweepControl()
    if owned:
        follow(control, 0)
    require_packages(cluster=cluster is not None)
    opened = load_trusted(find_project(project))
    path = opened.path or Path(project)
    last = find_sweep(path, name) if resume else None
    plan = _plan(opened, wishes, last, quiet=as_json)
    with ExitStack() as stack:
        from studio.engine.scale.sweep.coordinator import Coordinator

        # First, so that no sweep is begun for a cluster that is not there.
        remote = None if cluster is None else stack.enter_context(_cluster(cluster, plan, path))
        folder = stack.enter_context(_folder(opened, plan, last))
        folder.note_cluster("" if remote is None else remote.address)
        if owned:
            console.say(str(folder.path))
        coordinator = Coordinator(folder, path, seconds, control=control)
        pool = remote or stack.enter_context(LocalPool(plan.workers, plan.threads, folder.work))
        interrupted = _train(coordinator, plan, pool, quiet=as_json)
        _answer(coordinator, folder, as_json=as_json)
        if coordinator.left and not as_json:
            is_asked = interrupted or control.is_stopped
            why = "stopped as you asked" if is_asked else "the time is over"
            count = f"{coordinator.left} trial{' is' if coordinator.left == 1 else 's are'} left"
            go_on = f"glassbox sweep {path} --resume"
            go_on += "" if folder.path == find_sweep(path) else f" --name {folder.name}"
            go_on += "" if remote is None else f" --cluster {remote.address}"
            console.say(f"{why}; {count}; go on with: {go_on}")
        raise typer.Exit(0 if coordinator.best is not None or coordinator.left else CHECK_FAILED)


def _seconds(hours: float | None) -> float | None:
    if hours is not None and not 0.0 < hours < 1e6:
        raise ParameterError(f"expected a number of hours above 0, got {hours}", who="--max-hours")
    return None if hours is None else hours * 3600.0


def _plan(project: Project, wishes: Wishes, last: Path | None, *, quiet: bool) -> Plan:
    """The plan of a new sweep, or of one that goes on, with what is asked for now."""
    if last is not None:
        path = project.path or Path()
        plan = require_same(read_plan(last), wishes)
        # What a sweep began with may name other data than the project does now.
        check_trust(plan.project(path), str(path))
        return plan
    plan, remark = make_plan(project, wishes, default_workers(wishes.threads))
    if remark and not quiet:
        console.note(remark)
    return plan


def _folder(project: Project, plan: Plan, last: Path | None) -> SweepFolder:
    """The folder of a new sweep, or of one that goes on, whose plan may have changed."""
    if last is None:
        return SweepFolder.create(project, plan)
    folder = SweepFolder(last, project.path or Path())
    try:
        if plan != folder.plan:
            folder.change(plan)
    except StudioError:
        folder.close()
        raise
    return folder


def _cluster(address: str, plan: Plan, project: Path) -> ClusterPool:
    """A cluster that can train the project of a plan."""
    from studio.engine.scale.sweep.cluster import ClusterPool

    return ClusterPool(address, plan.project(project))


def _train(coordinator: Coordinator, plan: Plan, pool: Pool, *, quiet: bool) -> bool:
    """Train what is left, saying how it goes; whether Ctrl-C ended it."""
    if not coordinator.left:
        if not quiet:
            console.note(f"nothing left to train: all {plan.trials} trials are done; ask for more "
                         "with --trials")  # fmt: skip
        return False

    def tell(row: TrialRow) -> None:
        console.note(_line(row, coordinator.best, coordinator.left, plan))

    if not quiet:
        console.note(f"{coordinator.left} trials to train, {pool.where}")
        coordinator.ended.connect(tell)
        coordinator.noted.connect(console.note)
    try:
        coordinator.run(pool)
    except KeyboardInterrupt:
        return True
    return False


def _line(row: TrialRow, best: TrialRow | None, left: int, plan: Plan) -> str:
    """A trial that has ended, in a line."""
    values = ", ".join(f"{name} {shown(value)}" for name, value in row.values.items())
    said = f"{plan.objective} {row.value:.4f}" if row.value is not None else row.state
    if row.state == "failed" and row.outcome is not None:
        said = f"failed: {row.outcome.reason}"
    is_best = best is not None and best.number == row.number
    against = "" if best is None or best.value is None else (
        "; the best so far" if is_best else f"; best {best.value:.4f} of trial {best.number}"
    )  # fmt: skip
    done = plan.trials - left
    return f"{done}/{plan.trials}  trial {row.number}: {said}  {values}{against}"


def _answer(coordinator: Coordinator, folder: SweepFolder, *, as_json: bool) -> None:
    plan, rows, best = folder.plan, coordinator.rows, coordinator.best
    if as_json:
        console.answer_json(
            {
                "sweep": str(folder.path),
                "objective": plan.objective,
                "maximize": plan.maximize,
                "best": None if best is None else best.number,
                "trials": [row.to_json(folder.name, plan.seeds) for row in rows],
            }
        )
        return
    _show_table(rows, folder)
    if best is not None and best.value is not None:
        run = best.to_json(folder.name, plan.seeds)["runs"]
        name = run[0] if isinstance(run, list) else ""
        console.say(f"best: trial {best.number}, {plan.objective} {best.value:.4f}")
        console.say(f"run: {folder.run(str(name)).path}")


def _show_table(rows: Sequence[TrialRow], folder: SweepFolder) -> None:
    """The trials, the best first, then those without a value."""
    plan = folder.plan
    best = ranked(rows, maximize=plan.maximize)
    rest = [row for row in rows if row.value is None and row.outcome is not None]
    names = [axis.name for axis in plan.axes()]
    columns = ["trial", plan.objective, *(["± seeds"] if plan.seeds > 1 else []), *names, "state"]
    listed = []
    for row in [*best, *rest][:_MOST_SHOWN]:
        value = "" if row.value is None else f"{row.value:.4f}"
        spread = [_spread(row)] if plan.seeds > 1 else []
        values = [shown(row.values.get(name)) for name in names]
        state = f"{row.state}{', weights kept' if row.has_weights else ''}"
        listed.append([str(row.number), value, *spread, *values, state])
    if listed:
        console.table(columns, listed, right=range(len(columns) - 1))
    if len(best) + len(rest) > _MOST_SHOWN:
        console.say(f"… and {len(best) + len(rest) - _MOST_SHOWN} more; --json lists all")


def _spread(row: TrialRow) -> str:
    """Half the distance between the best and the worst seed."""
    values = () if row.outcome is None else row.outcome.values
    return f"{(max(values) - min(values)) / 2:.4f}" if values else ""
