"""Checks a change in a minute: lint, types, import contracts, and the quick tests it can touch.

    python3 start.py check            what changed since this branch left main
    python3 start.py check COMMIT     what changed since a commit
    python3 start.py check --list     only say which tests would run
    python3 start.py check --only mypy
                                      one check alone, as the hooks of pre-commit do

Which tests a change can touch follows from who imports whom, and who is named in strings. Nearest
come first; what the time does not suffice for is said, and `start.py test` runs all of it.
"""

from __future__ import annotations

import argparse
import math
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from start import CODE_CHECKS, say, summarise
from tools.commits import ROOT, NoCommitError, changed_files, merge_base, short_name
from tools.modules import Module, Modules

FOLDERS = ("studio", "tools", "benchmarks", "tests")
SECONDS = 45.0
MOST_FILES = 60
LISTED = 12
ALONE = CODE_CHECKS | {"tiny": ["-m", "pytest", "-q", "tests/end_to_end/test_tiny.py"]}
"""What `--only` can name."""


@dataclass(frozen=True, order=True)
class Touched:
    """A test file that a change can touch.

    Attributes:
        distance: 1 where it imports what did change, and so on; one less where it lies at the place
            in ``tests`` that mirrors it, and -1 where it changed itself.
        path: where it is, from the root of the tree.
        why: in a few words.
    """

    distance: int
    path: str
    why: str


def touched_tests(changed: Iterable[str], root: Path = ROOT) -> list[Touched]:
    """The test files that a change of these paths can touch, nearest first."""
    modules = Modules(root, FOLDERS)
    users = _users(modules)
    by_path = {m.path.relative_to(root).as_posix(): m.name for m in modules.by_name.values()}
    found: dict[str, tuple[int, str]] = {}
    for path in changed:
        starts = _starts(path, by_path, modules)
        for name, distance in _distances(starts, users).items():
            module = modules.by_name[name]
            if not module.path.name.startswith("test_"):
                continue
            near = distance - _mirrors(module.path.relative_to(root), path) if distance else -1
            if near < found.get(name, (sys.maxsize, ""))[0]:
                found[name] = (near, _reason(distance, path))
    return sorted(
        Touched(distance, modules.by_name[name].path.relative_to(root).as_posix(), why)
        for name, (distance, why) in found.items()
    )


def _users(modules: Modules) -> dict[str, set[str]]:
    """Who imports or names each module; tests use the ``conftest`` of every folder above."""
    users: dict[str, set[str]] = {}
    for module in modules.by_name.values():
        used = modules.imports(module) | modules.named(module)
        if module.name.startswith("tests."):
            parts = module.name.split(".")
            used |= {".".join([*parts[:end], "conftest"]) for end in range(1, len(parts))}
        for name in used - {module.name}:
            users.setdefault(name, set()).add(module.name)
    return users


def _starts(path: str, by_path: dict[str, str], modules: Modules) -> dict[str, int]:
    """The modules a changed file is, or is read by, with their distance from it."""
    if path in by_path:
        return {by_path[path]: 0}
    place = PurePosixPath(path)
    found = {name: 1 for name, module in modules.by_name.items() if _mentions(module, place)}
    if place.parts[0] == "studio":
        # Kernels, icons and the like are read by the package they lie in; a module that is gone
        # had its users there too.
        for folder in place.parents:
            inside = {m.name: 1 for m in modules.by_name.values()
                      if m.folder == ".".join(folder.parts)}  # fmt: skip
            if inside:
                return inside | found
    return found


def _mentions(module: Module, place: PurePosixPath) -> bool:
    """Whether a test names a file, as golden files, documents and samples are named."""
    if not module.name.startswith("tests."):
        return False
    names = {place.name, *place.parts[1:2]} if place.parts[0] == "projects" else {place.name}
    return any(f"{quote}{name}{quote}" in module.text or f"/{name}" in module.text
               for name in names for quote in "\"'")  # fmt: skip


def _distances(starts: dict[str, int], users: dict[str, set[str]]) -> dict[str, int]:
    """How many imports away each module is that uses one of the first ones."""
    found = dict(starts)
    front = sorted(found)
    while front:
        following = []
        for name in front:
            for user in users.get(name, ()):
                if user not in found:
                    found[user] = found[name] + 1
                    following.append(user)
        front = following
    return found


def _mirrors(test: Path, changed: str) -> int:
    """1 where a test lies at the place in ``tests`` that mirrors what has changed."""
    place = PurePosixPath(changed)
    inside = place.parts[1:-1] if place.parts[0] == "studio" else place.parts[:-1]
    return int(bool(inside) and test.parts[1:-1] == inside)


def _reason(distance: int, path: str) -> str:
    if distance == 0:
        return "changed"
    return f"uses {path}" if distance == 1 else f"{distance} imports from {path}"


# ---------------------------------------------------------------- running


def run_tests(tests: Sequence[Touched], deadline: float) -> tuple[str, int, float]:
    """Run them in the order given; none starts after a moment of ``time.time``."""
    began = time.monotonic()
    command = [
        *("-m", "pytest", "-q", "-p", "tools.nearest_first", "-m", "not slow"),
        *("--until", str(deadline), *(test.path for test in tests)),
    ]
    code = subprocess.call([sys.executable, *command], cwd=ROOT)
    # 5: all that was chosen is slow, or marked for runs of another kind.
    return "quick tests", 0 if code == 5 else code, time.monotonic() - began


def run_code_checks() -> tuple[list[tuple[str, int, float]], str]:
    """One after another, beside the tests; what those that failed have written."""
    rows, written = [], ""
    for name, command in CODE_CHECKS.items():
        began = time.monotonic()
        answer = subprocess.run(
            [sys.executable, *command], cwd=ROOT, capture_output=True, text=True, check=False
        )
        rows.append((name, answer.returncode, time.monotonic() - began))
        if answer.returncode:
            written += f"\n== {name}\n{answer.stdout}{answer.stderr}"
    return rows, written


def describe(tests: Sequence[Touched], reached: int, *, everything: bool = False) -> str:
    """What was chosen, and why."""
    if not tests:
        return "no test reaches the change"
    which = f"the nearest {len(tests)} of {reached}" if len(tests) < reached else f"{reached}"
    shown = tests if everything else tests[:LISTED]
    lines = [f"test files that reach the change: {which}"]
    lines += [f"  {test.path}  ({test.why})" for test in shown]
    if len(shown) < len(tests):
        lines.append(f"  and {len(tests) - len(shown)} more (--list shows all)")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Check the change; 0 when all is well, 1 when something failed, 2 for an unknown commit."""
    parser = argparse.ArgumentParser(
        prog="start.py check", description=(__doc__ or "").partition("\n")[0]
    )
    add = parser.add_argument
    add("commit", nargs="?", help="what the change is counted from; where the branch left main")
    add("--all", action="store_true", help="every quick test that reaches the change, however long")
    add("--list", action="store_true", help="say which tests would run, and run nothing")
    add(
        "--seconds", type=float, default=SECONDS, help="no test starts later (default: %(default)s)"
    )
    add("--only", choices=ALONE, help="run this one check, whatever has changed")
    options = parser.parse_args(arguments)
    if options.only:
        return subprocess.call([sys.executable, *ALONE[options.only]], cwd=ROOT)
    began = time.monotonic()
    deadline = time.time() + (math.inf if options.all else options.seconds)
    try:
        base = short_name(options.commit or merge_base())
        changed = changed_files(base)
    except NoCommitError as error:
        sys.stderr.write(f"start.py check: {error}\n")
        return 2
    with ThreadPoolExecutor(1) as pool:
        checks = None if options.list else pool.submit(run_code_checks)
        reached = touched_tests(changed)
        tests = reached if options.all else reached[:MOST_FILES]
        say(f"{len(changed)} files changed since {base}")
        say(describe(tests, len(reached), everything=options.list))
        if checks is None:
            return 0
        ran = [run_tests(tests, deadline)] if tests else []
        rows, written = checks.result()
    say(written)
    return summarise([*rows, *ran], time.monotonic() - began)


if __name__ == "__main__":
    sys.exit(main())
