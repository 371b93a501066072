"""Workers as processes that exchange over MPI: sums, words, and who is gone or silent."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from studio.engine.scale.parallel.process_manager import ProcessManager
from studio.engine.scale.parallel.shared_sums import keeps_order

pytest.importorskip("mpi4py")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="MPICH is for other systems"),
]

IN_MEMORY = sys.platform == "linux" and keeps_order()

HEAD = """
import os, signal, sys
from pathlib import Path
import numpy as np
from studio.engine.scale.parallel.messages import WorkerError
from studio.engine.scale.parallel.mpi_exchange import MpiExchange

def say(text):
    Path(sys.argv[1], f"said-{{exchange.rank}}").write_text(text)

exchange = MpiExchange(silent_seconds=6.0, shared={shared})
assert exchange.adds_in_memory == {shared}
"""

ORDINARY = """
values = np.full(1000, exchange.rank + 1, np.float32)
first = exchange.begin_sum(values, values)
more = np.full(3, 0.5, np.float32)
second = exchange.begin_sum(more, more)
second.wait()
first.wait()
total = exchange.total(np.array([2.0**40 + exchange.rank, exchange.rank]))
words = exchange.all_words(f"worker{exchange.rank}")
data = exchange.from_first(f"from {exchange.rank}".encode())
say(f"{values[0]} {values[-1]} {more[0]} {total[0] - 2.0**40 * exchange.size} {words} {data}")
exchange.close()
"""

FAILING = """
values = np.ones(1000, np.float32)
try:
    if exchange.rank == 1:
        {act}
    exchange.begin_sum(values, values).wait()
    say("went on")
except WorkerError as error:
    say(f"{{error.rank}} {{error.has_told}} {{error.message}}")
os._exit(0)
"""

MAPPED = """
exchange.begin_sum(np.ones(9, np.float32), np.ones(9, np.float32)).wait()
exchange.total(np.zeros(1))
lines = Path("/proc/self/maps").read_text().splitlines()
paths = {line.rpartition(" ")[2] for line in lines if "/dev/shm/" in line}
say(sorted(path for path in paths if os.path.exists(path)).__repr__())
exchange.total(np.zeros(1))
os.kill(os.getpid(), 9)
"""


def run(
    script: str, count: int, folder: Path, *, shared: bool = IN_MEMORY
) -> tuple[int, dict[int, str]]:
    """The code a training of these workers ends with, and what each said."""
    path = folder / "worker.py"
    path.write_text(HEAD.format(shared=shared) + script)
    with ProcessManager([sys.executable, str(path), str(folder)], count) as manager:
        code = manager.wait()
    said = {int(each.name[5:]): each.read_text() for each in folder.glob("said-*")}
    return code, said


@pytest.mark.parametrize(("count", "shared"), [(2, IN_MEMORY), (3, IN_MEMORY), (3, False)])
def test_all_workers_get_the_same(tmp_path: Path, count: int, shared: bool) -> None:
    code, said = run(ORDINARY, count, tmp_path, shared=shared)
    assert code == 0
    total = float(sum(range(1, count + 1)))
    ranks = float(sum(range(count)))
    words = [f"worker{rank}" for rank in range(count)]
    wanted = f"{total} {total} {0.5 * count} {ranks} {words} b'from 0'"
    assert said == dict.fromkeys(range(count), wanted)


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_workers_that_are_killed_leave_no_memory_behind(tmp_path: Path) -> None:
    code, said = run(MAPPED, 2, tmp_path)
    assert code == 1
    assert said == {0: "[]", 1: "[]"}


def test_a_worker_that_was_killed_is_named(tmp_path: Path) -> None:
    code, said = run(FAILING.format(act="os.kill(os.getpid(), 9)"), 2, tmp_path)
    assert code == 1
    assert said == {0: "1 False worker 1 of 2 was ended by signal 9"}


def test_a_worker_that_is_silent_is_named_and_ended(tmp_path: Path) -> None:
    act = "os.kill(os.getpid(), signal.SIGSTOP)"
    # The other one ends with a code, as the command does.
    script = (FAILING.format(act=act)).replace("os._exit(0)", "os._exit(2)")
    code, said = run(script, 2, tmp_path)
    assert code == 2
    assert said == {0: "1 False worker 1 of 2 has been silent for 6 s"}


def test_a_worker_that_is_only_slow_is_waited_for(tmp_path: Path) -> None:
    _, said = run(FAILING.format(act="import time; time.sleep(14)"), 2, tmp_path)
    assert said == {0: "went on", 1: "went on"}


def test_a_worker_that_fails_says_why_to_all(tmp_path: Path) -> None:
    act = "exchange.fail('[data] it is not there'); os._exit(2)"
    code, said = run(FAILING.format(act=act), 3, tmp_path)
    assert code == 2
    heard = "1 True worker 1 of 3 failed: [data] it is not there"
    assert said == {0: heard, 2: heard}
