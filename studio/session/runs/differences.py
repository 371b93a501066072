"""What differs between some runs: settings, data, network and results; nothing that is the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from studio.engine.core.options import Plain
from studio.session.core.metric_names import metric_text
from studio.session.runs.records import RunRecord
from studio.session.training.staleness import graph_difference

Group: TypeAlias = Literal["Network", "Data", "Training", "Place", "Results"]
Value: TypeAlias = "str | float | int | None"


@dataclass(frozen=True)
class DifferenceRow:
    """One thing that differs.

    Attributes:
        group: what it belongs to.
        name: what it is.
        values: one for each run, None where a run has none.
    """

    group: Group
    name: str
    values: tuple[Value, ...]


def differences(runs: Sequence[RunRecord]) -> tuple[DifferenceRow, ...]:
    """The rows of the table for some runs; the first is what networks are compared with."""
    if len(runs) < 2:
        return ()
    rows = [
        *_network(runs),
        *_rows("Data", [_data(run) for run in runs]),
        *_rows("Training", [settings_of(run) for run in runs]),
        *_rows("Place", [_place(run) for run in runs]),
        *_rows("Results", [_results(run) for run in runs]),
    ]
    return tuple(rows)


def _network(runs: Sequence[RunRecord]) -> list[DifferenceRow]:
    first = runs[0].project
    texts: list[Value] = ["compared with"]
    for run in runs[1:]:
        if first is None or run.project is None:
            texts.append(None)
            continue
        found = graph_difference(first.graph, run.project.graph)
        texts.append(found.text or "the same")
    rows = []
    if any(text not in ("the same", None) for text in texts[1:]):
        rows.append(DifferenceRow("Network", "layers", tuple(texts)))
    return [*rows, *_rows("Network", [{"parameters": run.parameters} for run in runs])]


def _rows(group: Group, found: Sequence[Mapping[str, Value]]) -> list[DifferenceRow]:
    names = dict.fromkeys(name for fields in found for name in fields)
    rows = [
        DifferenceRow(group, name, tuple(fields.get(name) for fields in found)) for name in names
    ]
    return [row for row in rows if len(set(row.values)) > 1]


def settings_of(run: RunRecord) -> dict[str, Value]:
    """How a run was trained, a value for each setting; empty where that cannot be read."""
    if run.project is None:
        return {}
    settings = run.project.training
    plain: dict[str, Plain] = {
        **settings.plain(),
        "shuffle": settings.shuffle,
        "validation": settings.validation,
        "level": settings.level,
        "optimizer": settings.optimizer.to_json(),
    }
    return _flat(plain)


def _data(run: RunRecord) -> dict[str, Value]:
    known: dict[str, Value] = {"fingerprint": run.data_hash[:12] or None}
    if run.project is None or run.project.data is None:
        return known
    return {**_flat(run.project.data.to_json()), **known}


def _place(run: RunRecord) -> dict[str, Value]:
    return {"device": run.device or None, "version": run.version or None}


def _results(run: RunRecord) -> dict[str, Value]:
    outputs = run.outputs
    return {
        "state": run.word,
        "epochs done": run.epochs,
        "time": run.seconds,
        **{metric_text(name, outputs): value for name, value in run.metrics.items()},
        **{f"test {metric_text(name, outputs)}": value for name, value in run.test.items()},
    }


def _flat(fields: Mapping[str, Plain], prefix: str = "") -> dict[str, Value]:
    """Nested settings as one level: ``optimizer: SGD``, ``optimizer momentum: 0.9``."""
    found: dict[str, Value] = {}
    for name, value in fields.items():
        word = {"optimizer": "optimiser"}.get(name, name).replace("_", " ")
        label = f"{prefix} {word}".strip()
        if isinstance(value, Mapping):
            inner = dict(value)
            kind = inner.pop("type", None)
            config = inner.pop("config", None)
            if kind is not None:
                found[label] = str(kind)
            found |= _flat({**inner, **(config if isinstance(config, Mapping) else {})}, label)
        elif isinstance(value, list):
            found[label] = ", ".join(_short(each) for each in value) or None
        else:
            found[label] = str(value).lower() if isinstance(value, bool) else value
    return found


def _short(value: Plain) -> str:
    if isinstance(value, Mapping) and "type" in value:
        return str(value["type"])
    return str(value)
