"""What the owner of a sweep asks of it, and the table others read meanwhile."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from studio.engine.core.errors import DataError, FormatError
from studio.engine.scale.sweep.control import SweepControl, follow
from studio.engine.scale.sweep.coordinator import Coordinator
from studio.engine.scale.sweep.folder import (
    TABLE,
    SweepFolder,
    find_sweep,
    list_sweeps,
    read_trials,
)
from studio.engine.scale.sweep.workers import Event
from studio.engine.train.project.project import Project
from tests.engine.scale.sweep.sweeping import UNITS, ThreadPool, begin, saved


class Asking(ThreadPool):
    """Asks something of the sweep after some trials, and watches its table."""

    def __init__(self, folder: SweepFolder, control: SweepControl, word: str, after: int) -> None:
        super().__init__()
        self._folder, self._control, self._word, self._after = folder, control, word, after
        self._done = 0
        self._still = 0
        self.seen: list[list[str]] = []

    def next(self, timeout: float) -> Event | None:
        rows = read_trials(self._folder.path, ["dense.units"])
        self.seen.append([row.state for row in rows])
        if self._control.is_paused and not self._threads:
            # Nothing is begun while it stands still; then it goes on.
            self._still += 1
            if self._still == 3:
                self._control.ask("resume")
            return None
        event = super().next(timeout)
        self._done += event is not None and event.kind == "done"
        if self._done == self._after:
            self._after = -1
            self._control.ask(self._word)
        return event


def coordinated(folder: SweepFolder, found: Project, control: SweepControl) -> Coordinator:
    assert found.path is not None
    # A clock that is always late enough: the table is written whenever something changed.
    ticks = iter(range(1 << 30))
    return Coordinator(folder, found.path, None, lambda: float(next(ticks)), control)


@pytest.mark.slow
def test_a_paused_sweep_begins_nothing_until_it_goes_on(tmp_path: Path) -> None:
    found, control = saved(tmp_path, epochs=1), SweepControl()
    with begin(found, UNITS, sampler="grid", workers=1) as folder:
        pool = Asking(folder, control, "pause", 1)
        coordinator = coordinated(folder, found, control)
        coordinator.run(pool)
        assert pool.begun == [0, 1, 2]
        assert [row.state for row in coordinator.rows] == ["finished"] * 3
        assert ["finished"] in pool.seen
        assert ["training"] in pool.seen
        rows = read_trials(folder.path, ["dense.units"])
        assert list(rows) == coordinator.rows


@pytest.mark.slow
def test_a_stopped_sweep_ends_at_once_and_goes_on(tmp_path: Path) -> None:
    found, control = saved(tmp_path, epochs=1), SweepControl()
    assert found.path is not None
    with begin(found, UNITS, sampler="grid", workers=1) as folder:
        coordinator = coordinated(folder, found, control)
        coordinator.run(Asking(folder, control, "stop", 1))
        assert coordinator.left == 2
        assert [row.state for row in read_trials(folder.path, ["dense.units"])] == ["finished"]
    with SweepFolder(folder.path, found.path) as left:
        again = ThreadPool()
        coordinated(left, found, SweepControl()).run(again)
        assert again.begun == [1, 2]


def test_words_come_one_a_line_and_the_end_means_stop() -> None:
    near, far = os.pipe()
    control = SweepControl()
    thread = follow(control, near)
    os.write(far, b"pause\nres")
    os.write(far, b"ume\nnonsense\xff\npau")
    os.write(far, b"se\n")
    os.close(far)
    thread.join(60)
    os.close(near)
    assert (control.is_paused, control.is_stopped) == (True, True)


@pytest.mark.parametrize(
    "text",
    [
        "", "{", "[]", '{"trials": 3}', '{"trials": [3]}', '{"trials": [{}]}',
        '{"trials": [{"trial": -1}]}',
    ],
)  # fmt: skip
def test_a_damaged_table_is_refused(tmp_path: Path, text: str) -> None:
    assert read_trials(tmp_path, []) == ()
    (tmp_path / TABLE).write_text(text, encoding="utf-8")
    with pytest.raises(FormatError):
        read_trials(tmp_path, [])


@pytest.mark.parametrize(
    "change",
    [
        {"trial": True}, {"state": "odd"}, {"values": {"other": 1}}, {"values": {"a": [1]}},
        {"by_seed": 3}, {"by_seed": ["x"]}, {"epochs": -1}, {"attempts": "1"}, {"seconds": None},
    ],
)  # fmt: skip
def test_a_row_that_is_none_damages_the_table(tmp_path: Path, change: dict[str, object]) -> None:
    row = {
        "trial": 0, "state": "finished", "value": 1.0, "by_seed": [1.0], "values": {"a": 1},
        "reason": "", "epochs": 1, "seconds": 0.5, "device": "x", "attempts": 1,
        "weights": True, "runs": ["r"],
    }  # fmt: skip

    def write(row: dict[str, object]) -> None:
        (tmp_path / TABLE).write_text(json.dumps({"trials": [row]}), encoding="utf-8")

    write(row)
    assert read_trials(tmp_path, ["a", "b"])[0].value == 1.0
    write({**row, **change})
    with pytest.raises(FormatError, match="the table of the sweep is damaged"):
        read_trials(tmp_path, ["a", "b"])


def test_a_sweep_is_found_by_its_name(tmp_path: Path) -> None:
    found = saved(tmp_path)
    assert found.path is not None
    with begin(found) as first, begin(found) as second:
        pass
    assert list_sweeps(found.path) == [second.path, first.path]
    assert find_sweep(found.path, first.name) == first.path
    with pytest.raises(DataError, match=r"there is no sweep '\.\./x'"):
        find_sweep(found.path, "../x")
