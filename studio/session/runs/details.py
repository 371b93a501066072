"""Everything a run's folder tells of it, in groups of names and values."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

from studio.engine.train.runs.marks import ENDINGS
from studio.session.core.metric_names import metric_title
from studio.session.core.run_notes import text_in
from studio.session.runs.columns import RATE, is_share
from studio.session.runs.differences import settings_of
from studio.session.runs.records import RunRecord, events_of, parts_of

Form: TypeAlias = Literal["text", "number", "share", "count", "duration", "date", "bytes"]

MOST_EVENTS, MOST_FILES = 200, 100


@dataclass(frozen=True)
class Detail:
    """One thing about a run.

    Attributes:
        name: what it is.
        value: how much, when or what.
        form: how it is written.
        note: what else to know of it, a few words or nothing.
    """

    name: str
    value: str | float | int
    form: Form = "text"
    note: str = ""


@dataclass(frozen=True)
class DetailGroup:
    """Things about a run that belong together."""

    title: str
    details: tuple[Detail, ...]


def details_of(run: RunRecord) -> tuple[DetailGroup, ...]:
    """All that is known of a run; reads the names of its files. Groups without any are left out."""
    groups = (
        DetailGroup("Course", tuple(_course(run))),
        DetailGroup("Events", tuple(_events(run))),
        DetailGroup("Metrics", tuple(_metrics(run))),
        DetailGroup("Settings", tuple(_settings(run))),
        DetailGroup("Files", tuple(_files(run))),
    )
    return tuple(group for group in groups if group.details)


def _course(run: RunRecord) -> Iterator[Detail]:
    if run.started is not None:
        yield Detail("Started", run.started.timestamp(), "date")
    ends = [mark.wall for mark in run.marks if mark.kind in ENDINGS]
    if ends and run.state != "running":
        yield Detail("Ended", ends[-1], "date")
    if run.seconds is not None:
        parts = parts_of(run.marks)
        note = f"in {parts} parts" if parts > 1 else ""
        yield Detail("Trained for", run.seconds, "duration", note)
    if run.project is not None:
        yield Detail("Epochs", f"{run.epochs:,} of {run.project.training.epochs:,}")
    if run.steps:
        yield Detail("Steps", run.steps, "count")
    summary = run.folder.summary()
    for name, value in (
        ("Device", run.device),
        ("Kernels", text_in(summary.get("kernels"))),
        ("Data", run.data_hash[:12]),
        ("Glassbox", run.version),
        ("Branched from", text_in(summary.get("branched_from"))),
        ("Imported from", text_in(summary.get("source"))),
    ):
        if value:
            yield Detail(name, value)


def _events(run: RunRecord) -> Iterator[Detail]:
    events = events_of(run.marks, is_training=run.state == "running")
    if len(events) > MOST_EVENTS:
        yield Detail("Before", f"{len(events) - MOST_EVENTS:,} further events")
    for when, what in events[-MOST_EVENTS:]:
        yield Detail(when, what)
    if run.reason and run.state in ("early", "failed", "stopped"):
        yield Detail("Error" if run.state == "failed" else "Reason", run.reason)
    if run.verdict[1]:
        yield Detail("Finding", run.verdict[1])


def _metrics(run: RunRecord) -> Iterator[Detail]:
    for name, value in run.metrics.items():
        title, form = metric_title(name, run.outputs), _form(name)
        yield Detail(f"{title}, last", value, form)
        if name != RATE and name in run.best:
            best, epoch = run.best[name]
            yield Detail(f"{title}, best", best, form, f"epoch {epoch}")
    for name, value in run.test.items():
        yield Detail(f"Test {metric_title(name, run.outputs).lower()}", value, _form(name))


def _form(metric: str) -> Form:
    return "share" if is_share(metric) else "number"


def _settings(run: RunRecord) -> Iterator[Detail]:
    for name, value in settings_of(run).items():
        if value is not None and value != "":
            form: Form = "number" if isinstance(value, float) else "text"
            yield Detail(
                name[:1].upper() + name[1:], value if form == "number" else str(value), form
            )


def _files(run: RunRecord) -> Iterator[Detail]:
    found = []
    for folder, _, names in os.walk(run.folder.path):
        for name in names:
            path = os.path.join(folder, name)
            try:
                found.append((os.path.relpath(path, run.folder.path), os.stat(path)))
            except OSError:
                # A training that is under way removes files.
                continue
    for name, state in sorted(found)[:MOST_FILES]:
        written = datetime.fromtimestamp(state.st_mtime).strftime("%d %b %H:%M:%S").lstrip("0")
        yield Detail(name, state.st_size, "bytes", written)
    if len(found) > MOST_FILES:
        yield Detail("More", len(found) - MOST_FILES, "count")
