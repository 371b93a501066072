"""Measured peaks of devices: when they are measured, and how they are kept."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from studio.engine.profiler.totals import Peaks
from studio.engine.train.devices import open_backend
from studio.engine.train.loop.trainer import Trainer
from studio.session.profiling.peaks import PeakStore
from tests.session.profiling.bench import ProfilingBench

pytestmark = pytest.mark.slow


def test_peaks_that_are_wanted_are_measured_when_the_device_is_free(
    profiler: ProfilingBench, trainer: Trainer
) -> None:
    profiler.model.follow(trainer)
    profiler.until(lambda: profiler.samples >= 1)
    profiler.model.want_peaks()
    assert not profiler.model.is_busy
    assert profiler.model.why_no_peaks() == "a training is using the device"
    trainer.control.stop()
    profiler.model.unfollow()
    profiler.until(lambda: not profiler.model.is_busy)
    assert profiler.model.peaks is not None


def test_peaks_are_kept_by_device_and_damage_counts_as_unknown(tmp_path: Path) -> None:
    with open_backend("cpu") as opened:
        measured = PeakStore(tmp_path).measure(opened.backend)
        name = opened.backend.fingerprint
    assert measured.gflops > 0
    assert PeakStore(tmp_path).find(name) == measured
    assert PeakStore(tmp_path).find("another device") is None
    (file,) = tmp_path.iterdir()
    good = json.loads(file.read_text())
    for bad in ("{", json.dumps({**good, "gflops": -1}), json.dumps({**good, "fingerprint": "x"}),
                json.dumps({**good, "gbytes": "many"}), "[]",
                json.dumps({k: v for k, v in good.items() if k != "method"}),
                json.dumps({**good, "doubt": 7}),
                json.dumps({**good, "method": good["method"] - 1})):  # fmt: skip
        file.write_text(bad)
        assert PeakStore(tmp_path).find(name) is None


def test_kernels_above_the_peaks_raise_them_for_good(profiler: ProfilingBench) -> None:
    profiler.model.start_dry_run()
    profiler.until(lambda: not profiler.model.is_busy)
    found = profiler.model.measurement
    assert found is not None
    store, subject = profiler.model.peaks_store, found.subject
    store.keep(subject.fingerprint, subject.device, Peaks(gflops=1e-3, gbytes=1e-3))
    profiler.model.start_dry_run()
    profiler.until(lambda: not profiler.model.is_busy)
    raised = profiler.model.peaks
    assert raised is not None
    assert raised.gbytes > 1e-3
    assert "faster than measured" in raised.doubt
    assert PeakStore(store._folder).find(subject.fingerprint) == raised
    rows = profiler.model.rows()
    assert [row.id for row in rows if (row.utilisation or 0.0) > 1.0] == []
    assert any(row.utilisation for row in rows)
