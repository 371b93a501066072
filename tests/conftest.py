"""What every test gets: groups by need, fixed seeds, golden files, a watch on leaked threads."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
import time
import zlib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import numpy as np
import pytest

from tests.quick_part import QuickPart

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

GOLDEN = Path(__file__).resolve().parent / "golden"

# The deepest package comes first, so that the first failure is the one nearest to the cause.
PACKAGE_ORDER = (
    "core",
    "profiler",
    "isa",
    "layers",
    "optim",
    "autodiff",
    "compiler",
    "runtime",
    "cpu",
    "gl",
    "conformance",
    "formats",
    "train",
)

# Threads that serve the whole process by design and end with it.
PROCESS_THREADS = (
    "MainThread",
    "execnet",
    "ThreadPoolExecutor-execnet",
    "pytest_timeout",
    "glassbox-cpu",
)

GL_PROBE = """
import sys, moderngl
options = {"backend": "egl"} if sys.platform == "linux" else {}
context = moderngl.create_context(standalone=True, require=430, **options)
sys.stdout.write(context.info["GL_RENDERER"])
"""

# What ends by itself is waited for: a machine with other work to do takes many times as long, and
# only what hangs is to fail. Both are within the timeout of a test.
PROBE_SECONDS = 300
THREADS_SECONDS = 60.0

hypothesis.settings.register_profile("dev", deadline=None)
hypothesis.settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "dev")


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("glassbox")
    group.addoption("--peers", action="store_true", help="run the live comparisons with peers")
    group.addoption("--full", action="store_true", help="run full-size fuzz, kill and soak tests")
    group.addoption("--require-gl", action="store_true", help="fail where OpenGL 4.3 is missing")
    group.addoption("--update-golden", action="store_true", help="rewrite the golden files")


def pytest_configure(config: pytest.Config) -> None:
    os.environ["GLASSBOX_FOREIGN_READERS"] = "off"
    config.pluginmanager.register(QuickPart(), "quick part")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    items.sort(key=_depth)
    left_out = {name for name in ("peers", "full") if not config.getoption(f"--{name}")}
    chosen = [item for item in items if left_out.isdisjoint(_marks(item))]
    if len(chosen) < len(items):
        kept = set(chosen)
        config.hook.pytest_deselected(items=[item for item in items if item not in kept])
        items[:] = chosen


def _marks(item: pytest.Item) -> set[str]:
    return {mark.name for mark in item.iter_markers()}


def _depth(item: pytest.Item) -> tuple[int, str]:
    folders = item.path.parts
    known = [PACKAGE_ORDER.index(name) for name in folders if name in PACKAGE_ORDER]
    return (known[-1] if known and "engine" in folders else len(PACKAGE_ORDER), str(item.path))


@cache
def _gl_renderer() -> tuple[str, str]:
    """Ask a child process for an OpenGL 4.3 context: (renderer, "") or ("", why there is none)."""
    answer = subprocess.run(
        [sys.executable, "-c", GL_PROBE],
        capture_output=True,
        text=True,
        timeout=PROBE_SECONDS,
        check=False,
    )
    if answer.returncode == 0:
        return answer.stdout.strip(), ""
    lines = answer.stderr.strip().splitlines()
    return "", lines[-1] if lines else f"the probe ended with code {answer.returncode}"


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("gl") is None:
        return
    renderer, reason = _gl_renderer()
    if renderer:
        return
    if item.config.getoption("--require-gl"):
        pytest.fail(f"no OpenGL 4.3 context: {reason}", pytrace=False)
    pytest.skip(f"no OpenGL 4.3 context: {reason}")


@pytest.fixture(scope="session")
def gl_renderer() -> str:
    """The GL_RENDERER string; tests using it carry the ``gl`` mark."""
    return _gl_renderer()[0]


@pytest.fixture
def foreign_readers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Exports are checked by other programs where they are installed, which takes seconds each."""
    monkeypatch.delenv("GLASSBOX_FOREIGN_READERS")


@pytest.fixture(autouse=True)
def fixed_seeds() -> None:
    random.seed(20240229)
    np.random.seed(20240229)


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> np.random.Generator:
    """A generator of its own for each test, the same on every run."""
    return np.random.default_rng(zlib.crc32(request.node.nodeid.encode()))


@pytest.fixture(autouse=True)
def no_threads_left() -> Iterator[None]:
    before = set(threading.enumerate())
    yield
    deadline = time.monotonic() + THREADS_SECONDS
    while left := _threads_since(before):
        if time.monotonic() > deadline:
            names = ", ".join(sorted(thread.name for thread in left))
            pytest.fail(f"threads still running after the test: {names}", pytrace=False)
        time.sleep(0.01)


def _threads_since(before: set[threading.Thread]) -> list[threading.Thread]:
    return [
        thread
        for thread in threading.enumerate()
        if thread not in before and not thread.name.startswith(PROCESS_THREADS)
    ]


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """``golden("isa/opcodes.txt", text)`` compares with that file below ``tests/golden``."""
    update = bool(request.config.getoption("--update-golden"))

    def compare(name: str, text: str) -> None:
        path = GOLDEN / name
        if update:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")
        if not path.is_file():
            pytest.fail(f"no golden file {path}; pytest --update-golden writes it", pytrace=False)
        assert text == path.read_text(encoding="utf-8")

    return compare
