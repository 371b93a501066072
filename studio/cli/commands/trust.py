"""``glassbox trust``: agrees to the data that a project reads outside its folder."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress

from studio.cli import console
from studio.cli.commands.using import RunOption
from studio.cli.options import ProjectArgument, find_project, trusted_data
from studio.engine.core.errors import StudioError, cleaned
from studio.engine.train.project.project import Project
from studio.engine.train.runs.run_folder import RunFolder, list_runs


def _recorded(runs: Iterable[RunFolder]) -> Iterator[Project]:
    """The projects as they were trained; runs that cannot be read are left out."""
    for run in runs:
        with suppress(StudioError):
            yield run.project()


def trust(project: ProjectArgument, run: RunOption = None) -> None:
    """Allow a project and its runs to read the data they name outside the project's folder.

    The permission is kept in the user's settings, for this folder and these paths. The window asks
    for it when such a project is opened.
    """
    path = find_project(project)
    opened = Project.load(path)
    runs = list_runs(opened) if run is None else (RunFolder(run),)
    trusted, agreed = trusted_data(), dict[str, None]()
    for each in (opened, *_recorded(runs)):
        if each.data is not None:
            found = trusted.untrusted(each.data.reference, each.folder)
            trusted.trust(each.data.reference, each.folder)
            agreed.update(dict.fromkeys(cleaned(str(data)) for data in found))
    for data in agreed:
        console.say(f"{path} may read {data}")
    if not agreed:
        console.say(f"{path}: nothing to agree to")
