"""Proves that a change changes no kernel: the same listings of kernels, and the same shaders.

    python -m tools.replay HEAD~1           this tree against a commit
    python -m tools.replay HEAD~2 HEAD~1    one commit against another

Compares what ``glassbox compile --kernels --source`` prints for every sample and mode, and for
the workloads W1 to W4 of the benchmarks, on a GPU, a software renderer and a CPU. Of a CPU only
the calls are compared, not the code behind them. Ends with 0 where all is equal, with 1 at the
first difference, which it prints.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tools.commits import ROOT, NoCommitError, short_name, tree_of

CHILD = Path(__file__).resolve().parent / "replay_process.py"
# The project file is how the studio knows a checkout, with its data, from an installed package.
FOLDERS = ("studio", "benchmarks", "projects", "pyproject.toml")
CONTEXT = 2
_SOURCE = re.compile(r"^== source \d+", re.MULTILINE)


class ReplayError(Exception):
    """A tree whose kernels cannot be printed."""


class Tree:
    """A process that prints the kernels of a tree; a context manager that ends it.

    Args:
        name: what it is called in messages.
        folder: where it is.
    """

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        environment = {**os.environ, "PYTHONPATH": str(folder), "OMP_NUM_THREADS": "1"}
        environment.pop("GLASSBOX_DEBUG", None)
        self._process = subprocess.Popen(
            [sys.executable, "-P", str(CHILD), str(folder)], cwd=folder, env=environment, text=True,
            encoding="utf-8", stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.kill()
        self._process.communicate()

    def names(self) -> list[str]:
        """All it can print; to be asked once, first."""
        return [str(name) for name in self._answer("its kernels")["names"]]

    def ask(self, name: str) -> None:
        """Have it work on a text, while the other tree does."""
        if self._process.stdin is not None:
            self._process.stdin.write(name + "\n")
            self._process.stdin.flush()

    def text(self, name: str) -> str:
        """The text asked for; ReplayError where there is none."""
        return str(self._answer(name)["text"])

    def _answer(self, name: str) -> dict[str, Any]:
        line = self._process.stdout.readline() if self._process.stdout is not None else ""
        answer = json.loads(line) if line else {"error": "its process has ended"}
        if "error" in answer:
            raise ReplayError(f"{self.name} does not print {name}: {answer['error']}")
        return dict(answer)


def first_difference(old: str, new: str) -> str:
    """The first line in which two texts differ, with the lines before it; empty without one."""
    if old == new:
        return ""
    before, after = old.splitlines(), new.splitlines()
    pairs = zip(before, after, strict=False)
    at = next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(before), len(after)))
    lines = [f"  {line}" for line in before[max(0, at - CONTEXT) : at]]
    lines += [f"- {line}" for line in before[at : at + 1]]
    lines += [f"+ {line}" for line in after[at : at + 1]]
    heads = [line for line in after[: at + 1] if line.startswith(("==", "forward:", "backward:"))]
    where = f" ({heads[-1].strip(': ')})" if heads else ""
    return "\n".join([f"line {at + 1}{where}:", *lines])


def compare(old: Tree, new: Tree, only: Sequence[str] = ()) -> tuple[bool, str]:
    """Whether all that both trees print is equal, and one paragraph about it.

    Args:
        old: the tree compared with.
        new: the tree in question.
        only: works to compare, all where none is given.

    Raises:
        ReplayError: a tree cannot print its kernels, or there is nothing to compare.
    """
    known = [tree.names() for tree in (old, new)]
    shared = [name for name in known[1] if name in known[0] and _wanted(name, only)]
    if not shared:
        raise ReplayError("there is nothing that both trees print")
    sources = set()
    for name in shared:
        for tree in (old, new):
            tree.ask(name)
        before, after = old.text(name), new.text(name)
        found = first_difference(before, after)
        if found:
            return False, f"{name}: the kernels of {old.name} and {new.name} differ in {found}"
        sources |= set(_SOURCE.split(after)[1:])
    apart = sorted(name for name in {*known[0], *known[1]} - {*shared} if _wanted(name, only))
    aside = f"; only one of them has {', '.join(apart)}" if apart else ""
    return True, (
        f"no kernel differs between {old.name} and {new.name}: {len(shared)} listings and "
        f"{len(sources)} shaders are equal{aside}"
    )


def _wanted(name: str, only: Sequence[str]) -> bool:
    return not only or name.split()[0] in only


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare two trees; 0 where no kernel differs, 1 where one does, 2 for a wrong word."""
    parser = argparse.ArgumentParser(
        prog="tools.replay", description=(__doc__ or "").partition("\n")[0]
    )
    add = parser.add_argument
    add("old", metavar="COMMIT", help="the commit compared with")
    add("new", nargs="?", help="the commit in question; this working tree where there is none")
    add("--only", default="", help="works and samples to compare, as W2,iris; all by default")
    options = parser.parse_args(arguments)
    only = [word for word in options.only.split(",") if word]
    try:
        with ExitStack() as stack:
            trees = []
            for commit in (options.old, options.new):
                folder, name = ROOT, "this tree"
                if commit is not None:
                    name = short_name(commit)
                    folder = stack.enter_context(tree_of(name, *FOLDERS))
                trees.append(stack.enter_context(Tree(name, folder)))
            equal, told = compare(trees[0], trees[1], only)
    except (NoCommitError, ReplayError) as error:
        sys.stderr.write(f"tools.replay: {error}\n")
        return 2
    sys.stdout.write(told + "\n")
    return 0 if equal else 1


if __name__ == "__main__":
    sys.exit(main())
