"""Other commits of this repository: their trees in a folder, and what changed since one."""

from __future__ import annotations

import io
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


class NoCommitError(Exception):
    """A word names no commit of this repository."""


def git(*words: str, root: Path = ROOT) -> bytes:
    """What a git command writes.

    Raises:
        NoCommitError: it failed; the text is git's last line.
    """
    try:
        answer = subprocess.run(["git", "-C", str(root), *words], capture_output=True, check=False)
    except OSError as error:
        raise NoCommitError(f"git cannot be started: {error}") from None
    if answer.returncode:
        lines = answer.stderr.decode(errors="replace").strip().splitlines()
        raise NoCommitError(lines[-1] if lines else f"git {words[0]} failed")
    return answer.stdout


def short_name(commit: str, root: Path = ROOT) -> str:
    """The abbreviated hash of a commit; NoCommitError where the word names none."""
    try:
        name = git("rev-parse", "--verify", "--short=10", f"{commit}^{{commit}}", root=root)
    except NoCommitError:
        raise NoCommitError(f"{commit} names no commit of this repository") from None
    return name.decode().strip()


@contextmanager
def tree_of(commit: str, *folders: str, root: Path = ROOT) -> Iterator[Path]:
    """The files of a commit in a temporary folder, which is gone afterwards.

    Args:
        commit: any name git knows.
        folders: the top-level folders wanted; those the commit does not have are left out.
        root: the repository.
    """
    name = short_name(commit, root)
    there = set(git("ls-tree", "--name-only", name, root=root).decode().splitlines())
    wanted = [folder for folder in folders if folder in there]
    with tempfile.TemporaryDirectory(prefix=f"glassbox-{name}-") as made:
        if wanted or not folders:
            archive = git("archive", "--format=tar", name, *wanted, root=root)
            with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
                tar.extractall(made, filter="data")
        yield Path(made)


def changed_files(since: str, root: Path = ROOT) -> list[str]:
    """Paths that differ from a commit, new files that git does not ignore included."""
    names = git("diff", "--name-only", "-z", short_name(since, root), root=root)
    names += git("ls-files", "--others", "--exclude-standard", "-z", root=root)
    return sorted({name for name in names.decode().split("\0") if name})


def merge_base(root: Path = ROOT) -> str:
    """Where this branch left ``origin/main`` or ``main``; the last commit where neither is."""
    for branch in ("origin/main", "main"):
        try:
            return git("merge-base", "HEAD", branch, root=root).decode().strip()
        except NoCommitError:
            continue
    return "HEAD"
