"""Columns of the table of runs: what each shows, how it sorts, and which are there at first."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from studio.engine.optim.metrics import metric_logged_as, metric_words
from studio.session.core.held_out import SHARED_PART
from studio.session.core.metric_names import metric_text, metric_title, output_of, raised
from studio.session.core.record_order import in_order, sortable
from studio.session.runs.records import RunRecord

Kind: TypeAlias = Literal["text", "number", "share", "count", "duration", "date", "star"]
Cell: TypeAlias = "str | float | int | bool | None"

RATE = "learning_rate"


def _nothing(_run: RunRecord) -> str:
    return ""


def _shared(run: RunRecord) -> str:
    return SHARED_PART if run.is_validated_on_test else ""


@dataclass(frozen=True)
class RunColumn:
    """One column.

    Attributes:
        id: stable name.
        title: heading.
        kind: how its values are written.
        value: what a run has there; None for nothing.
        tip: one sentence about it.
        shown: whether it is there at first.
        note: what to know of a run's value, a few words or nothing.
    """

    id: str
    title: str
    kind: Kind
    value: Callable[[RunRecord], Cell]
    tip: str
    shown: bool = True
    note: Callable[[RunRecord], str] = _nothing


def _setting(name: str) -> Callable[[RunRecord], Cell]:
    def value(run: RunRecord) -> Cell:
        if run.project is None:
            return None
        found = getattr(run.project.training, name)
        return found if isinstance(found, int | float | str) else str(found)

    return value


def _optimizer(run: RunRecord) -> Cell:
    return None if run.project is None else type(run.project.training.optimizer).__name__


def _rate(run: RunRecord) -> Cell:
    return None if run.project is None else run.project.training.optimizer.rate(0)


def _data(run: RunRecord) -> Cell:
    if run.project is None or run.project.data is None:
        return None
    reference = run.project.data.reference
    return str(reference.get("path") or reference.get("source"))


def _started(run: RunRecord) -> Cell:
    return None if run.started is None else run.started.timestamp()


_BEFORE = (
    RunColumn("star", "", "star", lambda run: run.notes.star, "Starred runs."),
    RunColumn("title", "Run", "text", lambda run: run.title, "Name, or start time."),
)
_AFTER = (
    RunColumn("state", "State", "text", lambda run: run.word, "State, or how it ended."),
    RunColumn("started", "Started", "date", _started, "Start time.", False),
    RunColumn("epochs", "Epochs", "count", lambda run: run.epochs, "Completed epochs."),
    RunColumn("seconds", "Time", "duration", lambda run: run.seconds, "Training time."),
    RunColumn("optimizer", "Optimiser", "text", _optimizer, "Optimiser and its main option."),
    RunColumn("rate", "Learning rate", "number", _rate, "Learning rate of the first step."),
    RunColumn("batch_size", "Batch", "count", _setting("batch_size"),
              "Batch size, samples per step."),
    RunColumn("parameters", "Parameters", "count", lambda run: run.parameters,
              "Parameters of the network."),
    RunColumn("seed", "Seed", "count", _setting("seed"),
              "Seed of initial weights and shuffling.", False),
    RunColumn("data", "Data", "text", _data, "Data set.", False),
    RunColumn("device", "Device", "text", lambda run: run.device or None,
              "Device it was trained on."),
    RunColumn("data_hash", "Data hash", "text", lambda run: run.data_hash[:12] or None,
              "Hash of the samples; equal data has an equal hash.", False),
    RunColumn("version", "Version", "text", lambda run: run.version or None,
              "Glassbox version.", False),
    RunColumn("steps", "Steps", "count", lambda run: run.steps or None, "Completed steps.", False),
    RunColumn("tags", "Tags", "text", lambda run: ", ".join(run.notes.tags) or None,
              "Tags for filtering.", False),
    RunColumn("notes", "Notes", "text", lambda run: run.notes.text.partition("\n")[0] or None,
              "First line of the notes.", False),
)  # fmt: skip


def columns_of(runs: Iterable[RunRecord]) -> tuple[RunColumn, ...]:
    """All columns there can be for some runs; those of metrics follow what the runs have.

    A column means the same whatever runs there are.
    """
    trained: dict[str, None] = {}
    tested: dict[str, None] = {}
    best: dict[str, None] = {}
    runs = tuple(runs)
    for run in runs:
        trained.update(dict.fromkeys(name for name in run.metrics if name != RATE))
        best.update(dict.fromkeys(name for name in run.best if name.startswith("val_")))
        tested.update(dict.fromkeys(run.test))
    outputs = tuple(dict.fromkeys(output for run in runs for output in run.outputs))
    shown = _shown_at_first(trained, outputs)
    # Validation first: a run that trains has it too.
    columns = [(*_metric_order(name), 0, _metric(name, outputs, shown)) for name in trained]
    columns += [(*_metric_order(f"val_{name}"), 1, _test_metric(name, outputs)) for name in tested]
    columns += [(*_metric_order(name), 2, _best_metric(name, outputs)) for name in best]
    measured = [column for *_, column in sorted(columns, key=lambda each: each[:-1])]
    return (*_BEFORE, *measured, *_AFTER)


def _shown_at_first(names: Iterable[str], outputs: Sequence[str]) -> frozenset[str]:
    """Metrics whose columns are there at first: one for each of several outputs."""
    found = {"loss", "val_loss", "val_accuracy"}
    for output in outputs:
        own = [n for n in names if n.startswith("val_") and output_of(n, outputs) == output]
        shares = [name for name in own if is_share(name)]
        found.update((shares or own[:1])[:1])
    return frozenset(found)


def is_share(metric: str) -> bool:
    """Whether a metric is a part of the whole, read in per cent."""
    found = metric_logged_as(metric)
    if found is not None:
        return found.is_share
    return any(mark in metric for mark in ("accuracy", "precision", "recall"))


def _metric_order(name: str) -> tuple[bool, bool, str]:
    """What is measured on other data tells most, and the loss least."""
    plain = name.removeprefix("val_")
    return (name == plain, plain == "loss", plain)


def _short(words: str) -> str:
    """A heading no wider than the numbers under it."""
    return words.replace("accuracy", "acc.")


def _heading(words: str, name: str, outputs: Sequence[str]) -> str:
    """A short heading of a metric: ``Val. acc.``, of an output ``kind: val. acc.``."""
    output = output_of(name, outputs)
    short = _short(metric_words(name.removeprefix(f"{output}_") if output else name))
    if not output:
        return f"{words} {short}" if words else raised(short)
    return f"{output}: {words.lower()} {short}" if words else f"{output}: {short}"


def _metric(name: str, outputs: Sequence[str], shown: Collection[str]) -> RunColumn:
    plain = name.removeprefix("val_")
    kind: Kind = "share" if is_share(name) else "number"
    tip = f"{metric_title(plain, outputs)} of the last epoch"
    if plain == name:
        return RunColumn(
            f"metric.{name}", _heading("", plain, outputs), kind,
            lambda run: run.metrics.get(name), f"{tip}, training part.", name in shown,
        )  # fmt: skip
    return RunColumn(
        f"metric.{name}", _heading("Val.", plain, outputs), kind,
        lambda run: run.metrics.get(name), f"{tip}, validation part.", name in shown, _shared,
    )  # fmt: skip


def _best_metric(name: str, outputs: Sequence[str]) -> RunColumn:
    """The best number of any epoch: the score of a run."""
    plain = name.removeprefix("val_")

    def value(run: RunRecord) -> Cell:
        found = run.best.get(name)
        return None if found is None else found[0]

    def note(run: RunRecord) -> str:
        found = run.best.get(name)
        words = "" if found is None else f"epoch {found[1]}"
        return ", ".join(each for each in (words, _shared(run)) if each)

    return RunColumn(
        f"best.{name}", _heading("Best val.", plain, outputs),
        "share" if is_share(name) else "number", value,
        f"Best {metric_text(plain, outputs)} of any epoch, validation part.",
        name == "val_loss", note,
    )  # fmt: skip


def _test_metric(name: str, outputs: Sequence[str]) -> RunColumn:
    return RunColumn(
        f"test.{name}", _heading("Test", name, outputs), "share" if is_share(name) else "number",
        lambda run: run.test.get(name), f"{metric_title(name, outputs)} on the test part.",
        shown=name != "loss", note=_shared,
    )  # fmt: skip


@dataclass(frozen=True)
class RunArrangement:
    """Which runs are listed, in which order.

    Attributes:
        text: words all of which a run must have somewhere.
        starred: only those marked.
        archived: those put away too.
        column: id of the column they are sorted by.
        descending: largest first.
    """

    text: str = ""
    starred: bool = False
    archived: bool = False
    column: str = "started"
    descending: bool = True

    def arrange(
        self, runs: Sequence[RunRecord], columns: Sequence[RunColumn]
    ) -> tuple[RunRecord, ...]:
        """The runs to list; those without a value in the column come last."""
        words = self.text.casefold().split()
        kept = [
            run
            for run in runs
            if (self.archived or not run.notes.archived)
            and (run.notes.star or not self.starred)
            and all(word in _haystack(run, columns) for word in words)
        ]
        by = next((column for column in columns if column.id == self.column), None)
        if by is None:
            return tuple(kept)
        return in_order(kept, lambda run: sortable(by.value(run)), descending=self.descending)


def _haystack(run: RunRecord, columns: Sequence[RunColumn]) -> str:
    texts = [run.name, run.notes.text, *run.notes.tags]
    texts += [str(c.value(run)) for c in columns if c.kind == "text" and c.value(run)]
    return "\n".join(texts).casefold()
