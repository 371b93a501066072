"""Workers on OpenGL, each a process with a context of its own, train as one does."""

from __future__ import annotations

import os
import pickle
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from studio.engine.scale.parallel.process_manager import ProcessManager
from tests.engine.scale.parallel import opengl_worker
from tests.engine.scale.parallel.trained import CLOSE, Found, train
from tests.engine.train.small_tasks import equal_bytes

pytest.importorskip("mpi4py")
pytestmark = [
    pytest.mark.gl,
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="MPICH is for other systems"),
]

ROOT = Path(__file__).resolve().parents[4]


@pytest.fixture(autouse=True)
def modules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT), prepend=os.pathsep)


def together(way: str, folder: Path, count: int = 2) -> list[dict[str, Any]]:
    """What each worker found, by rank."""
    command = [sys.executable, "-m", opengl_worker.__name__, way, str(folder)]
    with ProcessManager(command, count) as manager:
        assert manager.wait() == 0
    return [pickle.loads((folder / str(rank)).read_bytes()) for rank in range(count)]


@cache
def alone(device: str, way: str) -> Found:
    return train(opengl_worker.made(way), device=device)


@pytest.mark.parametrize(
    "way", ["trained", "of_many_buckets", "without_mapping", "synchronized", "masked"]
)
def test_workers_on_opengl_train_as_one_does_each_in_a_context_of_its_own(
    tmp_path: Path, way: str
) -> None:
    first, second = together(way, tmp_path)
    assert equal_bytes(first["weights"], second["weights"])
    assert (first["history"], first["measured"]) == (second["history"], second["measured"])
    for one in (alone("gl", way), alone("cpu", way)):
        assert first["steps"] == one.result.steps
        for name, values in one.weights.items():
            np.testing.assert_allclose(first["weights"][name], values, **CLOSE, err_msg=name)
        for found, wanted in (
            (first["history"], one.result.history), (first["measured"], one.measured),
        ):  # fmt: skip
            for name, numbers in wanted.items():
                np.testing.assert_allclose(found[name], numbers, **CLOSE, err_msg=name)


def test_two_trainings_on_opengl_are_equal_to_the_bit(tmp_path: Path) -> None:
    (tmp_path / "again").mkdir()
    first, second = together("trained", tmp_path), together("trained", tmp_path / "again")
    assert equal_bytes(first[0]["weights"], second[0]["weights"])
    assert first[0]["history"] == second[0]["history"]


def test_exchanges_on_opengl_have_time_bytes_and_rate(tmp_path: Path) -> None:
    first, second = together("profiled", tmp_path)
    assert equal_bytes(first["weights"], second["weights"])


def test_a_bad_number_is_found_by_workers_on_opengl(tmp_path: Path) -> None:
    first, second = together("failed", tmp_path)
    assert first == second
    assert "step" in first["origin"]
