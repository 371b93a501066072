"""How long the studio takes from the start of its process to a canvas that can be used.

The canvas counts as usable when it has been painted with the project on it and the event loop has
come round again. Each start is a process of its own; the first, which compiles the byte code that
Python keeps from then on and fills the system's caches, is shown apart.

    xvfb-run -a -s "-screen 0 1920x1200x24" python -m benchmarks.ui_start --out start.json
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.timing import machine

TARGET_SECONDS = 2.0
_SPAWNED = "GLASSBOX_SPAWNED_AT"
_IMPORT = re.compile(r"import time:\s+(\d+) \|\s+(\d+) \|(\s+)(\S+)")
_GIVE_UP_MS = 30_000
_PATIENCE = 120


def child(project: Path, dirs: Path) -> None:
    """Start the studio as its command does, say when what was there, and leave."""
    spawned = float(os.environ[_SPAWNED])
    moments: dict[str, float] = {"interpreter": time.time() - spawned}

    from PySide6.QtCore import QEvent, QObject, QTimer

    from studio.engine.core.app_dirs import AppDirs
    from studio.ui.shell.start.app import StudioApp, make_application
    from studio.ui.shell.start.launch import LaunchOptions
    from studio.ui.shell.start.shared_context import prepare_sharing

    def note(name: str) -> None:
        moments.setdefault(name, time.time() - spawned)

    note("imports")
    prepare_sharing()
    app = make_application()
    note("application")
    session = StudioApp(app, LaunchOptions(project=project, theme="dark"), AppDirs.below(dirs))
    note("window made")
    session.begin()
    note("project open")

    class Painted(QObject):
        """Notes the first time the canvas is painted."""

        def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802 (Qt's)
            if event.type() == QEvent.Type.Paint and "canvas painted" not in moments:
                QTimer.singleShot(0, lambda: note("canvas usable"))
                note("canvas painted")
            return False

    def everything() -> None:
        docks = session.window.docks.all.values()
        seen = [dock for dock in docks if not dock.visibleRegion().isEmpty()]
        made = bool(seen) and all(dock.pane is not None for dock in seen)
        if made and session.studio.compilation.result is not None:
            note("panes and program")
            sys.stdout.write(json.dumps(moments) + "\n")
            sys.stdout.flush()
            app.quit()

    watcher, timer = Painted(), QTimer()
    session.window.canvas.viewport().installEventFilter(watcher)
    timer.timeout.connect(everything)
    timer.start(5)
    QTimer.singleShot(_GIVE_UP_MS, app.quit)
    app.exec()
    session.close()
    if "panes and program" not in moments:
        sys.exit(f"not everything was there after {_GIVE_UP_MS / 1000:.0f} s: {moments}")


def start(project: Path, dirs: Path, *options: str) -> tuple[dict[str, float], str]:
    """Start once; the moments in seconds since the process was started, and its error output."""
    command = [sys.executable, *options, "-m", "benchmarks.ui_start", "--child", str(project)]
    environment = {
        **os.environ,
        "GLASSBOX_PLACES": str(dirs),
        # Kept from start to start, as on any user's machine, whatever this one is told.
        "PYTHONPYCACHEPREFIX": str(dirs.parent / "bytecode"),
        "PYTHONDONTWRITEBYTECODE": "",
        _SPAWNED: repr(time.time()),
    }
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=_PATIENCE, env=environment, check=False
    )
    if done.returncode:
        sys.exit(done.stderr)
    return json.loads(done.stdout.splitlines()[-1]), done.stderr


def imports(text: str) -> list[tuple[str, float, float]]:
    """Packages of the import log: (name, own milliseconds, those with what they import)."""
    own: dict[str, float] = {}
    whole: dict[str, float] = {}
    for line in text.splitlines():
        found = _IMPORT.match(line)
        if found is None:
            continue
        name = found.group(4)
        parts = name.split(".")
        package = ".".join(parts[:3]) if parts[0] == "studio" else parts[0]
        own[package] = own.get(package, 0.0) + int(found.group(1)) / 1e3
        whole[package] = max(whole.get(package, 0.0), int(found.group(2)) / 1e3)
    return sorted(((n, own[n], whole[n]) for n in own), key=lambda row: -row[1])


def main() -> None:
    """Start again and again, and print where the time goes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--project", default="digits-cnn", help="a sample project")
    parser.add_argument("--starts", type=int, default=7)
    parser.add_argument("--out", type=Path, help="write JSON there")
    given = parser.parse_args()
    if given.child is not None:
        child(given.child, Path(os.environ["GLASSBOX_PLACES"]))
        return
    with tempfile.TemporaryDirectory() as folder:
        from studio.samples import open_copy

        project, dirs = open_copy(given.project, Path(folder)), Path(folder) / "places"
        first, _ = start(project, dirs)
        warm = [start(project, dirs)[0] for _ in range(given.starts)]
        _, log = start(project, dirs, "-X", "importtime")
    rows = imports(log)
    medians = {name: statistics.median(each[name] for each in warm) for name in first}
    print(f"{given.project}: seconds since the process began, median of {given.starts} warm starts")
    before = 0.0
    for name, seconds in sorted(medians.items(), key=lambda item: item[1]):
        low, high = min(e[name] for e in warm), max(e[name] for e in warm)
        print(f"  {seconds:6.2f}  (+{seconds - before:.2f}, {low:.2f} to {high:.2f})  {name}")
        before = seconds
    print(f"  first start: {first['canvas usable']:.2f} to a usable canvas")
    print(f"  target: {TARGET_SECONDS:.1f} to a usable canvas")
    total = sum(own for _, own, _ in rows)
    print(f"imports: {total:.0f} ms of their own time, measured with -X importtime; the slowest:")
    for name, own, whole in rows[:15]:
        print(f"  {own:7.1f} ms own {whole:8.1f} ms with theirs  {name}")
    if given.out is not None:
        result = {
            "machine": machine(),
            "project": given.project,
            "first": first,
            "warm": warm,
            "medians": medians,
            "target_s": TARGET_SECONDS,
            "imports_ms": [{"name": n, "own": o, "whole": w} for n, o, w in rows],
        }
        given.out.write_text(json.dumps(result), encoding="utf-8")


if __name__ == "__main__":
    main()
