"""Checks the code and runs the tests, for ``start.py test``: types beside the tests.

What stands behind ``python -m tools.whole_suite`` goes to pytest.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

from start import CODE_CHECKS, ROOT, say, summarise

BESIDE = "mypy"
"""The longest check. It takes one core, and tests leave one idle now and then."""


def run_steps(steps: Mapping[str, Sequence[str]]) -> int:
    """Run each step, what is `BESIDE` along with the others; 0 when all of it is well."""
    began = time.monotonic()
    rows = []
    with _beside(steps[BESIDE]) as followed:
        for name, command in steps.items():
            if name != BESIDE:
                say(f"\n== {name}")
                start = time.monotonic()
                code = subprocess.call([sys.executable, *command], cwd=ROOT)
                rows.append((name, code, time.monotonic() - start))
        code, output, seconds = followed.result()
    say(f"\n== {BESIDE}\n{output.rstrip()}")
    return summarise([*rows, (BESIDE, code, seconds)], time.monotonic() - began)


@contextmanager
def _beside(command: Sequence[str]) -> Iterator[Future[tuple[int, str, float]]]:
    """Python in the background of the block: its exit code, output and seconds, once over."""
    start = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, *command], cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, encoding="utf-8", errors="replace",
    )  # fmt: skip

    def follow() -> tuple[int, str, float]:
        output, _ = process.communicate()
        return process.returncode, output, time.monotonic() - start

    with ThreadPoolExecutor(1) as pool:
        try:
            yield pool.submit(follow)
        finally:
            process.kill()


def main(arguments: Sequence[str]) -> int:
    """Run the checks, and pytest with these options."""
    return run_steps(CODE_CHECKS | {"pytest": ["-m", "pytest", *arguments]})


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
