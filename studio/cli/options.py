"""Options several commands share, and how a project is named on the command line."""

from __future__ import annotations

import shlex
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from studio.engine.core.app_dirs import AppDirs
from studio.engine.core.errors import DataError, ParameterError, quoted
from studio.engine.core.near_names import did_you_mean
from studio.engine.train.project.project import Project
from studio.engine.train.project.trusted_data import FILE as TRUSTED_DATA
from studio.engine.train.project.trusted_data import TrustedData, UntrustedDataError
from studio.samples import open_copy, sample_names, sample_root

if TYPE_CHECKING:
    from studio.engine.runtime.exchange import Exchange

_MOST_NEAR = 200

BackendOption = Annotated[
    str, typer.Option("--backend", help="Device to run on: auto, gl or cpu.", metavar="auto|gl|cpu")
]
SeedOption = Annotated[int | None, typer.Option("--seed", help="Random seed.", metavar="N")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]
WorkersOption = Annotated[
    int | None,
    typer.Option("--workers", help="Processes on this host that share every batch.", metavar="N"),
]
MpiOption = Annotated[
    bool, typer.Option("--mpi", help="Be one of the workers that mpirun has started.")
]
LengthOption = Annotated[
    list[str] | None,
    typer.Option(
        "--length",
        help="Number for the unknown length of an input, such as tokens=32, or image=32x48.",
        metavar="INPUT=N",
    ),
]
ProjectArgument = Annotated[
    str,
    typer.Argument(
        help="Project file (.glassbox), its folder, or the name of a sample.", metavar="PROJECT"
    ),
]


def lengths_given(words: list[str] | None) -> dict[str, object]:
    """Lengths by the names of inputs from words such as ``tokens=32``; ParameterError otherwise."""
    found: dict[str, object] = {}
    for word in words or ():
        name, _, numbers = word.rpartition("=")
        parts = numbers.split("x")
        if not name or not all(part.isascii() and part.isdecimal() for part in parts):
            raise ParameterError(f"expected a length such as tokens=32, got {quoted(word)}",
                                 who="--length")  # fmt: skip
        found[name] = [int(part) for part in parts]
    return found


def shared_project(named: str, exchange: Exchange | None) -> Path:
    """The project file that a word stands for, as the first of several workers finds it."""
    if exchange is None:
        return find_project(named)
    path = str(find_project(named)) if exchange.rank == 0 else ""
    return Path(exchange.from_first(path.encode()).decode())


def find_project(named: str, *, samples: bool = True) -> Path:
    """The project file a word stands for: a file, a folder that holds one, or a sample's name.

    A sample is copied into the current folder and opened from there; never without ``samples``.

    Raises:
        DataError: nothing of that name is there.
    """
    path = Path(named)
    if path.is_dir():
        inside = sorted(path.glob("*.glassbox"))
        if len(inside) == 1:
            return inside[0]
        raise DataError(
            f"expected one .glassbox file in the folder, got {len(inside)}",
            who=named,
            hint="name the file itself",
        )
    if path.exists():
        return path
    if samples and named in sample_names():
        return open_copy(named, Path())
    known = sample_names() if samples else []
    others = f" or one of the samples {', '.join(known)}" if samples else ""
    raise DataError(
        "no such project",
        who=named,
        hint=did_you_mean(named, [*_projects_near(path), *known], f"give a .glassbox file{others}"),
    )


def _projects_near(path: Path) -> list[str]:
    """What could be typed for the projects in the folder that a path leads to."""
    try:
        found = [*islice(path.parent.glob("*.glassbox"), _MOST_NEAR)]
        found += [each.parent for each in islice(path.parent.glob("*/*.glassbox"), _MOST_NEAR)]
    except (OSError, ValueError):
        return []
    return sorted({str(each) for each in found})


def make_folder(path: Path) -> None:
    """Make a folder for answers, before the work that gives them; DataError where it cannot be."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(
            f"the folder cannot be created: {error.strerror or error}",
            who=str(path),
            hint="choose another place with --out",
        ) from None


def open_project(named: str) -> Project:
    """The project a word stands for, loaded where it lies: looking at a sample copies nothing.

    Raises:
        DataError: there is none, or it names data that the user has not agreed to read.
    """
    if not Path(named).exists() and named in sample_names():
        return Project.load(sample_root() / named / f"{named}.glassbox")
    return load_trusted(find_project(named))


def load_trusted(path: Path) -> Project:
    """A project from its file, whose data may be read.

    Raises:
        UntrustedDataError: it names data outside its folder, and the user has not agreed to that.
    """
    project = Project.load(path)
    check_trust(project, str(path))
    return project


def check_trust(project: Project, named: str, run: Path | None = None) -> None:
    """UntrustedDataError where a project, or a run's record of it, names data not agreed to.

    Args:
        project: what names the data.
        named: what to type for the project.
        run: the run's folder, where it is a run's record.
    """
    if project.data is None:
        return
    try:
        trusted_data().check(project.data.reference, project.folder, who=named)
    except UntrustedDataError as error:
        option = "" if run is None else f" --run {shlex.quote(str(run))}"
        error.hint = f"glassbox trust {shlex.quote(named)}{option} allows it"
        raise


def trusted_data() -> TrustedData:
    """What the user has agreed to have read, here or in the window."""
    dirs = AppDirs.of_user()
    return TrustedData(dirs.config / TRUSTED_DATA, (dirs.data,))


def word_for(project: Project) -> str:
    """What to type for a project: its path, or a sample's name, since samples are never written."""
    path = project.path
    if path is not None and path.parent.parent == sample_root():
        return project.name
    return str(path or project.name)
