"""The way of a layer from the drop on the canvas to the first dispatch, by the files that run."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from studio.engine.cpu.run.executable import CpuExecutable
from studio.engine.gl.record.step_issue import StepIssue
from studio.session.document.edits.sections import set_data
from tests.called_files import CalledFiles, called_files
from tests.graph_editor.hands import Hands
from tests.graph_editor.test_panes_beside_the_canvas import carried
from tests.session.document.networks import net

WAIT = 60_000
MOST = {"cpu": 244, "gl": 274}
"""Upper bounds: each further file is one more to read. Some run only when nothing ran
before in the process."""
WAY = {
    "graph_editor/editing/interactions/drop_layer.py",
    "session/document/document.py",
    "session/training/training.py",
    "engine/train/loop/trainer.py",
    "engine/train/network/network.py",
    "engine/train/network/programs.py",
    "engine/compiler/lower.py",
    "engine/layers/dense.py",
    "engine/train/loop/epoch_loop.py",
}
"""Files that must be among them, so that the test cannot pass without looking."""


@pytest.fixture
def called() -> Iterator[CalledFiles]:
    with called_files() as found:
        yield found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("backend", "kind", "run"),
    [("cpu", CpuExecutable, "run"), pytest.param("gl", StepIssue, "step", marks=pytest.mark.gl)],
    ids=["cpu", "gl"],
)
def test_a_dropped_layer_reaches_the_device_through_so_many_files(
    called: CalledFiles, hands: Hands, monkeypatch: pytest.MonkeyPatch,
    backend: str, kind: type, run: str,
) -> None:  # fmt: skip
    studio, dispatched = hands.studio, threading.Event()
    studio.preferences.set("backend", backend)
    studio.preferences.set("profile_live", False)
    hands.open(set_data(net("input 4 > dense 3 softmax"), {"source": "iris"}))
    _until_quiet(hands)
    plain = getattr(kind, run)

    def first(*args: object, **options: object) -> object:
        if called.is_on and threading.current_thread().name.startswith(("training", "glassbox-gl")):
            called.is_on = False
            dispatched.set()
        return plain(*args, **options)

    monkeypatch.setattr(kind, run, first)
    carrier = carried(hands, "Dense")
    place = hands.middle("input", "dense")
    carrier.over(place)
    called.threads, called.is_on = ("MainThread",), True
    carrier.drop(place)
    called.is_on = False
    assert hands.wires == "dense_1>dense input>dense_1"
    _until_quiet(hands)
    called.is_on = True
    studio.training.start()
    # What the window does meanwhile is not on the way.
    called.threads = ("training", "glassbox-gl")
    hands.qtbot.waitUntil(dispatched.is_set, timeout=WAIT)
    studio.training.stop()
    hands.qtbot.waitUntil(lambda: not studio.training.is_busy, timeout=WAIT)
    assert set(called.names) >= WAY
    assert len(called.names) <= MOST[backend]


def _until_quiet(hands: Hands) -> None:
    """Wait until what a change sets off in the background is done."""
    studio = hands.studio
    hands.qtbot.waitUntil(lambda: not studio.compilation.is_stale, timeout=WAIT)
    hands.qtbot.waitUntil(lambda: not studio.tasks.running, timeout=WAIT)
