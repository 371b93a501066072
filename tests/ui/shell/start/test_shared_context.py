"""The engine's context that shares with Qt's, each case in an application of its own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.gl,
    pytest.mark.slow,
    pytest.mark.skipif(
        not os.environ.get("DISPLAY") and shutil.which("xvfb-run") is None, reason="no X server"
    ),
]

ROOT = Path(__file__).resolve().parents[4]

CHILD = """
import json, os, sys, threading, time
from pathlib import Path
import numpy as np
from PySide6.QtGui import QOffscreenSurface, QOpenGLContext
from PySide6.QtWidgets import QApplication
from studio.engine.gl.backend import GlBackend
from studio.engine.gl.live.painter import SheetPainter, Source, View
from benchmarks.pixel_target import PixelTarget
from studio.engine.runtime.live import StepClock
from studio.engine.runtime.live_sheet import Pick, Sheet
from studio.ui.shell.start.shared_context import QtSharedProvider, prepare_sharing
from tests.engine.gl.test_live import counting
from tests.engine.gl.test_live_painter import COLOURS

options = json.loads(sys.argv[1])
if options["share"]:
    prepare_sharing()
app = QApplication([])
provider = QtSharedProvider(software_too=options["software_too"])
backend = GlBackend(provider)
answer = {"shared": provider.is_shared, "note": provider.note, "origin": backend.info.origin,
          "renderer": backend.device}
session = backend.open_session()
executable = backend.compile(counting((120, 160)), session, 1)
there = threading.Event()
tap = session.tap("count", ready=there.set)
executable.attach(tap, StepClock())
if provider.is_shared:
    surface = QOffscreenSurface()
    surface.setFormat(QOpenGLContext.globalShareContext().format())
    surface.create()
    context = QOpenGLContext()
    context.setFormat(surface.format())
    context.setShareContext(QOpenGLContext.globalShareContext())
    assert context.create() and context.makeCurrent(surface)
    load = lambda name: int(context.getProcAddress(name.encode()) or 0)
    target, painter = PixelTarget(load, 80, 60), SheetPainter(load)
    painter.set_palette(COLOURS)
    sheet = Sheet((120, 160), (Pick(0, 1, 120), Pick(0, 1, 160)), rows=0, columns=1, block=(2, 2))
    stop = threading.Event()
    def work():
        while not stop.is_set():
            executable.run(5, stop.is_set)
    thread = threading.Thread(target=work)
    thread.start()
    torn = frames = 0
    for _ in range(60):
        tap.request()
        assert there.wait(30)
        there.clear()
        snapshot = tap.take()
        step = snapshot.moment.step
        painter.draw(Source.of(snapshot), View(sheet, low=step - 128, high=step + 127), 80, 60)
        seen = target.read()
        torn += bool((seen != seen[0, 0]).any())
        frames += int(seen[0, 0, 0]) == 128
        snapshot.drawn(painter.fence())
        snapshot.release()
    stop.set()
    thread.join()
    painter.release()
    target.release()
    context.doneCurrent()
    answer |= {"torn": torn, "frames": frames}
else:
    tap.request()
    executable.run()
    with tap.take() as snapshot:
        answer["mean"] = snapshot.render().statistics.mean
def drawing_threads():
    names = (each.read_text() for each in Path("/proc/self/task").glob("*/comm"))
    return sum(name.startswith("llvmpipe-") for name in names)
# A thread has its name only once it has run.
limit = time.monotonic() + 60
wanted = int(os.environ["LP_NUM_THREADS"])
while not provider.is_shared and drawing_threads() < wanted and time.monotonic() < limit:
    time.sleep(0.05)
answer["drawing_threads"] = drawing_threads()
answer["threads_wanted"] = os.environ["LP_NUM_THREADS"]
tap.close()
executable.close()
session.close()
backend.close()
provider.close()
sys.stdout.write("\\n" + json.dumps(answer))
"""


def run(*, share: bool, software_too: bool, platform: str = "xcb") -> dict[str, object]:
    server = [] if os.environ.get("DISPLAY") else ["xvfb-run", "-a", "-s", "-screen 0 800x600x24"]
    if platform == "offscreen":
        server = []
    options = json.dumps({"share": share, "software_too": software_too})
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {
        **os.environ,
        "QT_QPA_PLATFORM": platform,
        "PYTHONPATH": os.pathsep.join(paths),
        "LP_NUM_THREADS": "2",
    }
    if platform == "offscreen":
        environment.pop("DISPLAY", None)
    answer = subprocess.run(
        [*server, sys.executable, "-c", CHILD, options],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=environment,
        timeout=120,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr
    return dict(json.loads(answer.stdout.splitlines()[-1]))


def test_the_window_draws_what_the_engine_computes_without_tearing() -> None:
    found = run(share=True, software_too=True)
    assert found["shared"] is True
    assert found["origin"] == "shared with the window"
    assert (found["note"], found["torn"], found["frames"]) == ("", 0, 60)


def test_software_that_is_shared_draws_without_threads_of_its_own() -> None:
    shared = run(share=True, software_too=True)
    if "(software)" not in str(shared["renderer"]):
        pytest.skip("the renderer here is hardware")
    alone = run(share=True, software_too=False)
    assert (shared["drawing_threads"], alone["drawing_threads"]) == (0, 2)
    assert shared["threads_wanted"] == alone["threads_wanted"] == "2"


def test_software_gets_a_context_of_its_own_and_says_why() -> None:
    found = run(share=True, software_too=False)
    if "(software)" not in str(found["renderer"]):
        pytest.skip("the renderer here is hardware")
    assert found["shared"] is False
    assert "faster" in str(found["note"])
    assert found["mean"] == 1.0


@pytest.mark.parametrize("platform", ["xcb", "offscreen"])
def test_without_sharing_the_engine_works_all_the_same(platform: str) -> None:
    found = run(share=platform == "offscreen", software_too=True, platform=platform)
    assert found["shared"] is False
    assert str(found["note"]).endswith(".")
    assert found["mean"] == 1.0
