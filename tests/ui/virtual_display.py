"""An X server without a screen, one for each process that runs tests of widgets."""

from __future__ import annotations

import atexit
import ctypes
import os
import select
import shutil
import signal
import subprocess
import sys
import time
import warnings

SCREEN = "2560x1440x24"
_PATIENCE = 30.0
_PR_SET_PDEATHSIG = 1


def ensure_display(screen: str = SCREEN) -> None:
    """Make widgets show on a display of this process's own, unless the user lent one.

    Workers that share a display take the focus from each other, so each gets its own.

    Args:
        screen: its width, height and depth.
    """
    shared = "PYTEST_XDIST_WORKER" in os.environ
    lent = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    if not sys.platform.startswith("linux") or (lent and not shared):
        return
    if shutil.which("Xvfb") is None:
        if not lent:
            raise RuntimeError("tests of widgets need Xvfb: apt-get install xvfb")
        return
    os.environ["DISPLAY"] = f":{_start(screen)}"
    os.environ.pop("WAYLAND_DISPLAY", None)
    os.environ.setdefault("LP_NUM_THREADS", "1")


def _start(screen: str) -> int:
    read_end, write_end = os.pipe()
    with warnings.catch_warnings():
        # JAX, where the peers have loaded it, warns of any fork.
        warnings.simplefilter("ignore")
        server = subprocess.Popen(
            ["Xvfb", "-displayfd", str(write_end), "-screen", "0", screen, "-nolisten", "tcp",
             "-noreset"],
            pass_fds=(write_end,),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            preexec_fn=_die_with_parent,
        )  # fmt: skip
    os.close(write_end)
    atexit.register(_stop, server)
    return _read_number(read_end)


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def _stop(server: subprocess.Popen[bytes]) -> None:
    server.terminate()
    server.wait()


def _read_number(pipe: int) -> int:
    # Read to the line's end: closing the pipe before that kills the server.
    text, deadline = b"", time.monotonic() + _PATIENCE
    with os.fdopen(pipe, "rb", buffering=0) as stream:
        while not text.endswith(b"\n"):
            ready, _, _ = select.select([stream], [], [], max(0.0, deadline - time.monotonic()))
            piece = stream.read(16) if ready else b""
            if not piece:
                raise RuntimeError("Xvfb did not start")
            text += piece
    return int(text)
