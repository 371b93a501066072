"""Checks exported files: a new process loads them and predicts the same samples."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple, Self, TypeAlias

import numpy as np
import numpy.typing as npt

import studio
from studio.engine.core.errors import FormatError
from studio.engine.core.progress import Progress, unheard
from studio.engine.core.tensor import bind_shape
from studio.engine.formats.atomic import write_atomic
from studio.engine.formats.gbi import save_gbi
from studio.engine.formats.npy import load_npy, save_npy
from studio.engine.formats.npz import save_npz
from studio.engine.formats.safe_json import load_json
from studio.engine.interop.file_format import Exportable, FileFormat
from studio.engine.layers.graph_json import graph_to_json
from studio.engine.plugins.loading import for_child
from studio.engine.train.devices import open_backend
from studio.engine.train.export.check import process
from studio.engine.train.export.check.answers import NOTHING, TOLERANCE, Difference, compare
from studio.engine.train.export.check.foreign_readers import readers_of
from studio.engine.train.export.check.pictures import picture_differences, save_pictures
from studio.engine.train.network.programs import Programs
from studio.engine.train.network.trained import Trained
from studio.engine.train.project.project import Project
from studio.engine.train.project.task import Task

SAMPLES = 64
_MADE_UP = 16
_SECONDS = 300.0
_POLL = 0.05
_SHOWN = 120
_PREPROCESSING = {
    "normalization": "its normalisation is {}, expected {}",
    "input_normalization": "it normalises by {}, expected {}",
    "resize": "it resamples images by {}, expected {}",
}
"""Facts that say what is done to a raw sample, and how a difference in each is said."""

Array: TypeAlias = npt.NDArray[np.generic]


@dataclass(frozen=True)
class ExportCheck:
    """What comparing an exported file with the network it was made of found.

    Attributes:
        form: name of the format.
        samples: samples compared; 0 where the file was not compared.
        max_abs: largest absolute difference of any answer.
        max_relative: largest difference relative to the network's answer.
        difference: largest difference, relative to the network's answer where that is above 1.
        same_top: samples whose likeliest class is the same; None where there are no classes.
        same_bytes: whether exporting once more gives the same file.
        reasons: why it is not the same model, one sentence each; empty when it is.
        first: the first sample answered differently, if any.
        part: of the data the samples are from: ``test``, ``validation``, ``training``; empty where
            there is no data and the samples were made up.
        seconds: how long it took.
        by_output: largest absolute difference by output, where there are several.
        reader: the foreign reader that read the file, with its version; empty for Glassbox's own.
        notes: why a foreign reader that is installed could not be used, one sentence each.
        preprocessing: what is done to raw samples, as files state it.
        samples_hash: SHA-256 of the raw samples, as they are in memory; of each input in turn.
    """

    form: str
    samples: int
    max_abs: float = 0.0
    max_relative: float = 0.0
    difference: float = 0.0
    same_top: int | None = None
    same_bytes: bool = False
    reasons: tuple[str, ...] = ()
    first: Difference | None = None
    part: str = "test"
    seconds: float = 0.0
    by_output: Mapping[str, float] = field(default_factory=dict)
    reader: str = ""
    notes: tuple[str, ...] = ()
    preprocessing: Mapping[str, str] = field(default_factory=dict)
    samples_hash: str = ""

    @property
    def is_checked(self) -> bool:
        """Whether the file was compared."""
        return self.samples > 0

    @property
    def is_same(self) -> bool:
        """Whether the file was found to be the same model."""
        return self.is_checked and not self.reasons

    @property
    def is_alike(self) -> bool:
        """Whether the file was loaded and answers every sample as the network does."""
        return self.is_checked and self.first is None and self.difference <= TOLERANCE

    @property
    def read_by(self) -> str:
        """What read the file."""
        return self.reader or "Glassbox"

    @property
    def sentence(self) -> str:
        """The finding in one line."""
        if not self.is_checked:
            return "not verified: " + "; ".join(self.reasons)
        if self.is_same:
            kind = "samples" if self.part else "generated samples"
            return f"same model: max difference {_short(self.max_abs)} on {self.samples} {kind}"
        return "not the same model: " + self.reasons[0]


class Written(NamedTuple):
    """A file that was written and is to be checked.

    Attributes:
        form: its format.
        path: where it is at the moment.
        sha256: hash of what was written.
    """

    form: FileFormat
    path: Path
    sha256: str


def check_files(
    trained: Trained,
    files: Sequence[Written],
    model: Exportable,
    project: Project | None = None,
    progress: Progress | None = None,
) -> list[ExportCheck | FormatError]:
    """Compare exported files with the network they were made of, all in one new process.

    Args:
        trained: the network with its weights.
        files: what was written.
        model: the same network as formats write it, made once more.
        project: the project it was trained from; files of weights are then checked with it,
            opened again with its data.
        progress: hears what is being done; may raise to stop.

    Returns:
        For each file what was found, or why it could not be compared.
    """
    try:
        with _folder() as folder, _Child(folder) as child:
            check = _Check(trained, files, model, project, progress or unheard, folder)
            return check.run(child)
    except FormatError as error:
        return [error for _ in files]


def stored_samples(task: Task) -> tuple[list[Array], str]:
    """Raw samples to compare answers on, and the part of the data they are from.

    Of the test part, else of any there is; where there is no data, even steps and an empty name.
    """
    for part, samples in (
        ("test", task.test), ("validation", task.validation), ("training", task.training)
    ):  # fmt: skip
        if samples is not None and len(samples):
            return [np.ascontiguousarray(array[:SAMPLES]) for array in samples.inputs], part
    program = Programs(task).program("infer")
    rows: list[Array] = []
    for tensor in (program.tensors[i] for i in program.inputs):
        shape = bind_shape(tensor.shape, _MADE_UP)
        steps = np.linspace(-1.0, 1.0, int(np.prod(shape)), dtype=np.float32)
        rows.append(steps.reshape(shape).astype(tensor.dtype.np))
    return rows, ""


class _Check:
    """One comparison; the arguments are those of `check_files`, and a folder to work in."""

    def __init__(
        self,
        trained: Trained,
        files: Sequence[Written],
        model: Exportable,
        project: Project | None,
        tell: Progress,
        folder: Path,
    ) -> None:
        self._began = time.monotonic()
        self._task = trained.task
        self._files = files
        self._model = model
        self._project = project
        self._tell = tell
        self._folder = folder
        self._rows, self._part = stored_samples(trained.task)
        self._expected = _answers(trained, self._rows)
        self._without: dict[str, str] = {}
        self._names = [node.layer.name for node in trained.task.graph.inputs]
        self._pictures: dict[str, list[int]] = {}

    def run(self, child: _Child) -> list[ExportCheck | FormatError]:
        """What was found of each file."""
        self._tell(0.1, "exporting again")
        same = [self._is_same_again(file) for file in self._files]
        self._tell(0.3, "loading the file in another process")
        readable = [file for file in self._files if _can_be_read(file.form)]
        self._hand_over(readable)
        why = child.ask(len(readable), self._tell) if readable else ""
        while self._gave_up_reader(len(readable), why):
            self._request(readable)
            with _Child(self._folder) as other:
                why = other.ask(len(readable), self._tell)
        self._tell(0.9, "comparing")
        found: list[ExportCheck | FormatError] = []
        for file, same_bytes in zip(self._files, same, strict=True):
            if file in readable:
                found.append(self._compared(file, readable.index(file), same_bytes, why))
            else:
                reason = _why_unreadable(file.form)
                found.append(ExportCheck(file.form.name, 0, reasons=(reason,), part=self._part))
        return found

    def _gave_up_reader(self, files: int, why: str) -> bool:
        """Whether the process ended in a foreign reader, which is not used again then."""
        names = [process.reply_name(index) for index in range(files)]
        missing = next((i for i, n in enumerate(names) if not (self._folder / n).exists()), None)
        if missing is None:
            return False
        title = _loaded(self._folder / process.reader_name(missing))
        if not isinstance(title, str) or title in self._without:
            return False
        self._without[title] = f"{title} is installed but gave no answer: {why}"
        return True

    def _is_same_again(self, file: Written) -> bool:
        """Whether the network written once more gives the same bytes."""
        again = self._folder / f"again{file.form.ending}"
        file.form.write(self._model, again)
        same = process.file_hash(again) == file.sha256
        if again.is_dir():
            shutil.rmtree(again)
        else:
            again.unlink()
        return same

    def _hand_over(self, files: Sequence[Written]) -> None:
        """Write what the other process needs."""
        folder, forms = self._folder, [file.form for file in files]
        for index, values in enumerate(self._rows):
            save_npy(folder / process.rows_name(index), values)
        self._pictures = save_pictures(folder, self._model.facts, self._names, self._rows)
        if any(form.holds == "program" and not form.has_weights for form in forms):
            save_npz(folder / process.PROGRAM_WEIGHTS, self._model.program[1])
        if self._project is not None:
            write_atomic(folder / process.PROJECT, self._project.text().encode("utf-8"))
        elif any(form.holds in ("weights", "checkpoint") for form in forms):
            write_atomic(folder / process.GRAPH, _json(graph_to_json(self._task.graph)))
            save_gbi(folder / process.NETWORK, Programs(self._task).program("infer"))
        self._request(files)

    def _request(self, files: Sequence[Written]) -> None:
        """Write what the other process is asked."""
        request: dict[str, object] = {
            "files": [[file.form.name, str(file.path.absolute())] for file in files],
            "inputs": self._names,
            "pictures": self._pictures,
            "modules": sorted({type(file.form).__module__ for file in files}),
            "path": sys.path,
            "project_folder": None if self._project is None else str(self._project.folder),
            "without": list(self._without),
        }
        write_atomic(self._folder / process.REQUEST, _json(request))

    def _compared(
        self, file: Written, index: int, same_bytes: bool, why: str
    ) -> ExportCheck | FormatError:
        reply = _reply(self._folder, index)
        if reply is None:
            return FormatError(f"the other process gave no answer: {why}", who="export check")
        compared, reasons = NOTHING, [f"the file does not load: {reply.get('error')}"]
        if "error" not in reply and reply.get("sha256") != file.sha256:
            reasons = ["another program changed the file during the check"]
        elif "error" not in reply:
            reasons = self._stated_differences(reply, file.form)
            reasons += picture_differences(self._folder, index, self._pictures)
            names = [process.answers_name(index, i) for i in range(int(str(reply["outputs"])))]
            found = [load_npy(self._folder / name) for name in names]
            outputs = self._task.all_outputs
            compared = compare(
                self._expected,
                found,
                [each.class_names for each in outputs],
                [each.name for each in outputs],
            )
        if not same_bytes:
            reasons.append("exporting again gives a different file")
        if compared.reason:
            reasons.insert(0, compared.reason)
        gaps = compared.by_output if len(compared.by_output) > 1 else ()
        outputs_called = self._task.graph.output_names()
        return ExportCheck(
            file.form.name, len(self._rows[0]), compared.max_abs, compared.max_relative,
            compared.difference, compared.same_top, same_bytes, tuple(reasons), compared.first,
            self._part, time.monotonic() - self._began,
            dict(zip(outputs_called, gaps, strict=False)), str(reply.get("reader", "")),
            self._notes(file.form, reply), _preprocessing(self._model.facts),
            _hash_of(self._rows),
        )  # fmt: skip

    def _notes(self, form: FileFormat, reply: Mapping[str, object]) -> tuple[str, ...]:
        """Which foreign readers of a format could not be used."""
        ended = [self._without[r.title] for r in readers_of(form.name) if r.title in self._without]
        told = reply.get("notes")
        return (*ended, *map(str, told if isinstance(told, list) else ()))

    def _stated_differences(self, reply: Mapping[str, object], form: FileFormat) -> list[str]:
        """What the file, or the project with it, says otherwise than the network.

        A model of another tool has no project and no program that would say what it leaves out.
        """
        task, found = self._task, []
        names = list(task.class_names)
        if names:
            for key in ("class_names", "project_class_names"):
                classes = reply.get(key)
                if classes is None and form.holds == "model" and key == "class_names":
                    classes = []
                if classes is not None and classes != names:
                    found.append(_names_difference(names, classes))
                    break
        stated, by_output = reply.get("output_class_names"), task.facts.get("output_class_names")
        if stated is not None and stated != by_output:
            found.append(f"the classes of its outputs are {stated}, expected {by_output}")
        for what, wanted in (("input", self._names), ("output", list(task.graph.output_names()))):
            called = reply.get(f"{what}_names")
            if called is not None and called != wanted:
                shown = ", ".join(map(str, called if isinstance(called, list) else ()))
                found.append(f"its {what}s are called {shown}, expected {', '.join(wanted)}")
        found += _preprocessing_differences(reply, self._model.facts, form)
        if "program" in reply:
            if reply["program"] != process.program_hash(self._model.program[0]):
                found.append("its program differs")
            if reply.get("assembled") != reply["program"]:
                found.append("its program differs after writing and reading a listing")
        data_hash = reply.get("data_hash")
        if data_hash is not None and data_hash != task.data_hash:
            found.append("it was trained on different data")
        return found


def _preprocessing(facts: Mapping[str, str]) -> dict[str, str]:
    """Those facts that say what is done to a raw sample."""
    return {key: facts[key] for key in _PREPROCESSING if key in facts}


def _preprocessing_differences(
    reply: Mapping[str, object], facts: Mapping[str, str], form: FileFormat
) -> Iterator[str]:
    """What the file says otherwise of what is done to a raw sample."""
    for key, said in _PREPROCESSING.items():
        stated, wanted = reply.get(key), facts.get(key, "nothing")
        if stated is None and form.holds == "model":
            stated = "nothing"
        if stated is not None and stated != wanted:
            yield said.format(str(stated)[:_SHOWN], wanted[:_SHOWN])


def _can_be_read(form: FileFormat) -> bool:
    """Whether a file can be read back, by Glassbox or by a reader that is installed."""
    return form.can_read or form.can_open or any(r.is_installed for r in readers_of(form.name))


def _why_unreadable(form: FileFormat) -> str:
    readers = readers_of(form.name)
    if not readers:
        return "files of this format cannot be read back"
    packages = " or ".join(dict.fromkeys(name for each in readers for name in each.packages))
    return f"nothing that reads this format is installed; it takes {packages}"


def _hash_of(rows: Sequence[Array]) -> str:
    made = sha256()
    for values in rows:
        made.update(np.ascontiguousarray(values).tobytes())
    return made.hexdigest()


@contextmanager
def _folder() -> Iterator[Path]:
    """A temporary folder; FormatError where the system has no room for one."""
    try:
        made = TemporaryDirectory(prefix="glassbox-export-check-", ignore_cleanup_errors=True)
    except OSError as error:
        raise FormatError(
            f"no temporary folder can be made: {error.strerror}", who="export check"
        ) from error
    with made as name:
        yield Path(name)


def _answers(trained: Trained, rows: list[Array]) -> list[Array]:
    """What the network answers, by the same kernels as in the other process."""
    with (
        open_backend("cpu", compiled=False) as opened,
        Trained.of_weights(trained.task, opened.backend, trained.weights()) as other,
    ):
        return [np.asarray(a) for a in other.predict_all(rows)]


def _json(value: object) -> bytes:
    return json.dumps(value).encode("utf-8")


def _reply(folder: Path, index: int) -> Mapping[str, object] | None:
    """What the other process replied about a file; None where it did not."""
    found = _loaded(folder / process.reply_name(index))
    return found if isinstance(found, Mapping) else None


def _loaded(path: Path) -> object:
    """What a file of the other process holds; None where it is not there or not whole."""
    try:
        return load_json(path)
    except FormatError:
        return None


class _Child:
    """The other process; a context manager that leaves none behind.

    It is started before there is anything to load, as loading Python and its libraries takes it
    longer than writing what it is asked.

    Args:
        folder: where the request will be.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        self._why = ""
        root = str(Path(studio.__file__).resolve().parent.parent)
        paths = [root, *filter(None, [os.environ.get("PYTHONPATH", "")])]
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-m", process.__name__, str(folder)],
                env={**os.environ, **for_child(), "PYTHONPATH": os.pathsep.join(paths)}, cwd=folder,
                stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            )  # fmt: skip
        except OSError as error:
            self._why = f"a second Python process could not be started: {error.strerror}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.communicate()

    def ask(self, files: int, tell: Progress) -> str:
        """Have the request answered; why there is no answer, should one be missing."""
        child = self._process
        if child is None:
            return self._why
        said = self._wait(child, files, tell)
        if said is None:
            child.kill()
            return f"it took longer than {_SECONDS:.0f} s"
        lines = said.strip().splitlines()
        if child.returncode < 0:
            number = -child.returncode
            return f"it was ended by signal {number} ({_signal_name(number)})"
        return lines[-1][:200] if lines else f"it ended with code {child.returncode}"

    def _wait(self, child: subprocess.Popen[bytes], files: int, tell: Progress) -> str | None:
        """What it wrote to its standard error; None where it is given up as too slow."""
        done, deadline = 0, time.monotonic() + _SECONDS
        while True:
            try:
                # This closes its standard input, at the end of which it begins.
                _, said = child.communicate(timeout=_POLL)
            except subprocess.TimeoutExpired:
                while done < files and (self._folder / process.reply_name(done)).exists():
                    done, deadline = done + 1, time.monotonic() + _SECONDS
                tell(0.4 + 0.5 * done / files, "loading the file in another process")
                if time.monotonic() > deadline:
                    return None
            else:
                return said.decode("utf-8", "replace")


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return "unknown"


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
