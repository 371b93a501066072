"""Whether an exported file is the same model: loaded by a process of its own and asked the same."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

import studio
from studio.engine.core.errors import FormatError
from studio.engine.formats.npy import load_npy, save_npy
from studio.engine.formats.npz import save_npz
from studio.engine.formats.safe_json import load_json
from studio.engine.train.exporting import export_file, inference_program
from studio.engine.train.project import Project
from studio.engine.train.trained import Trained
from studio.ui.models import certificate_process as process
from studio.ui.models.certificate_answers import NOTHING, Difference, compare

SAMPLES = 64
_SECONDS = 300.0
_POLL = 0.05

Array: TypeAlias = npt.NDArray[np.generic]
Progress: TypeAlias = Callable[["float | None", str], None]


@dataclass(frozen=True)
class Certificate:
    """What comparing an exported file with the studio found.

    Attributes:
        form: what was exported.
        samples: stored test samples compared; 0 where there were none.
        max_abs: largest absolute difference of any answer.
        max_relative: largest difference relative to the studio's answer.
        same_top: samples whose likeliest class is the same; None where there are no classes.
        same_bytes: whether exporting once more gives the same file.
        reasons: why it is not the same model, one sentence each; empty when it is.
        first: the first sample answered differently, if any.
        seconds: how long it took.
    """

    form: str
    samples: int
    max_abs: float = 0.0
    max_relative: float = 0.0
    same_top: int | None = None
    same_bytes: bool = False
    reasons: tuple[str, ...] = ()
    first: Difference | None = None
    seconds: float = 0.0

    @property
    def is_checked(self) -> bool:
        """Whether there was anything to compare."""
        return self.samples > 0

    @property
    def is_same(self) -> bool:
        """Whether the file was found to be the same model."""
        return self.is_checked and not self.reasons

    @property
    def sentence(self) -> str:
        """The finding in one line."""
        if not self.is_checked:
            return "not compared: " + "; ".join(self.reasons)
        if self.is_same:
            return f"same model: max difference {_short(self.max_abs)} on {self.samples} samples"
        return "not the same model: " + self.reasons[0]


def certify(
    trained: Trained,
    project: Project,
    form: str,
    path: Path,
    progress: Progress | None = None,
) -> Certificate:
    """Compare an exported file with the network it was made of.

    Args:
        trained: the network with its weights.
        project: the project as it was trained.
        form: one of the engine's export formats.
        path: the file.
        progress: hears what is being done; may raise to stop.

    Raises:
        FormatError: the other process could not be started or did not answer.
    """
    began, progress = time.monotonic(), progress or _unheard
    test = trained.task.test
    if test is None:
        why = "the project has no test samples, so there is nothing to compare answers on"
        return Certificate(form, 0, reasons=(why,))
    rows = [np.ascontiguousarray(array[:SAMPLES]) for array in test.inputs]
    expected = [np.asarray(a) for a in trained.predict_all(rows)]
    with TemporaryDirectory(prefix="glassbox-certificate-") as name:
        folder = Path(name)
        progress(0.1, "exporting once more")
        same_bytes = _same_bytes(trained, form, path, folder)
        progress(0.3, "loading the file in another process")
        program = _hand_over(trained, project, form, path, folder, rows)
        reply = _ask(folder, progress)
        progress(0.9, "comparing")
        if "error" in reply:
            reasons = [f"the file does not load: {reply['error']}"]
            found = None
        else:
            reasons = _stated_differences(reply, trained, program)
            found = [load_npy(folder / process.answers_name(i)) for i in range(len(expected))]
    if not same_bytes:
        reasons.append("exporting once more gives another file")
    compared = NOTHING if found is None else compare(expected, found, trained.task.class_names)
    if compared.reason:
        reasons.insert(0, compared.reason)
    return Certificate(
        form, len(rows[0]), compared.max_abs, compared.max_relative, compared.same_top,
        same_bytes, tuple(reasons), compared.first, time.monotonic() - began,
    )  # fmt: skip


def _unheard(share: float | None, text: str) -> None:
    """Nobody wants to hear of the progress."""


def _same_bytes(trained: Trained, form: str, path: Path, folder: Path) -> bool:
    again = folder / f"again{path.suffix}"
    export_file(trained, form, again)
    try:
        return again.read_bytes() == path.read_bytes()
    except OSError as error:
        raise FormatError(f"cannot be read back: {error.strerror}", who=str(path)) from error


def _hand_over(
    trained: Trained, project: Project, form: str, path: Path, folder: Path, rows: Sequence[Array]
) -> str:
    """Write what the other process needs; the hash of the program where the file is one."""
    for index, values in enumerate(rows):
        save_npy(folder / process.rows_name(index), values)
    program = ""
    if form in process.PROGRAM_FORMS:
        made, weights = inference_program(trained)
        program = process.program_hash(made)
        if form == "gbasm":
            save_npz(folder / process.WEIGHTS, weights)
    else:
        (folder / process.PROJECT).write_text(project.text(), encoding="utf-8")
    request = {
        "form": form, "file": str(path.absolute()), "folder": str(project.folder),
        "inputs": len(rows),
    }  # fmt: skip
    (folder / process.REQUEST).write_text(json.dumps(request), encoding="utf-8")
    return program


def _ask(folder: Path, progress: Progress) -> dict[str, object]:
    """Run the other process to its end; what it replied."""
    root = str(Path(studio.__file__).resolve().parent.parent)
    paths = [root, *filter(None, [os.environ.get("PYTHONPATH", "")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    command = [sys.executable, "-m", process.__name__, str(folder)]
    try:
        child = subprocess.Popen(
            command, env=environment, cwd=folder, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        )  # fmt: skip
    except OSError as error:
        raise FormatError(
            f"another Python could not be started: {error.strerror}", who="certificate"
        ) from error
    said = _wait(child, progress)
    try:
        found = load_json(folder / process.REPLY)
    except FormatError:
        found = None
    if isinstance(found, dict):
        return dict(found)
    last = said.strip().splitlines()[-1:] or [f"it ended with code {child.returncode}"]
    raise FormatError(f"the other process gave no answer: {last[0][:200]}", who="certificate")


def _wait(child: subprocess.Popen[bytes], progress: Progress) -> str:
    deadline = time.monotonic() + _SECONDS
    try:
        while True:
            try:
                _, said = child.communicate(timeout=_POLL)
            except subprocess.TimeoutExpired:
                progress(0.5, "loading the file in another process")
                if time.monotonic() > deadline:
                    raise FormatError(
                        f"the other process did not answer in {_SECONDS:.0f} s", who="certificate"
                    ) from None
            else:
                return said.decode("utf-8", "replace")
    finally:
        if child.poll() is None:
            child.kill()
            child.communicate()


def _stated_differences(reply: dict[str, object], trained: Trained, program: str) -> list[str]:
    """What the file, or the project with it, says otherwise than the studio."""
    task, found = trained.task, []
    names = list(task.class_names)
    if names:
        for key in ("class_names", "project_class_names"):
            stated = reply.get(key)
            if stated is not None and stated != names:
                found.append(_names_difference(names, stated))
                break
    norm = reply.get("normalization")
    if norm is not None and norm != task.facts.get("normalization"):
        found.append(
            f"its normalisation is {norm}, expected {task.facts.get('normalization', 'none')}"
        )
    if program and reply.get("program") != program:
        found.append("its program is another one")
    if program and reply.get("assembled") != reply.get("program"):
        found.append("written as a listing and read again, its program is another one")
    data_hash = reply.get("data_hash")
    if data_hash is not None and data_hash != task.data_hash:
        found.append("it was trained on other data")
    return found


def _names_difference(expected: list[str], stated: object) -> str:
    listed = stated if isinstance(stated, list) else []
    for index, name in enumerate(expected):
        other = listed[index] if index < len(listed) else "nothing"
        if other != name:
            return f"its class {index} is called {other!r}, expected {name!r}"
    return f"it has {len(listed)} classes, expected {len(expected)}"


def _short(value: float) -> str:
    """``3e-7``, ``0``: one digit is enough of a difference."""
    if value == 0:
        return "0"
    digits, _, power = f"{value:.0e}".partition("e")
    return f"{digits}e{int(power)}"
