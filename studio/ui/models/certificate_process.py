"""Loads an exported file in a process of its own and answers stored samples with it.

Started as ``python -m studio.ui.models.certificate_process FOLDER``. The folder holds
``request.json`` and the raw samples; the answers and ``reply.json`` are written beside them.
Nothing is taken over from the process that exported: what is not in the file, or in the project it
belongs to, is missing.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from studio.engine.compiler.verify import verify
from studio.engine.core.errors import FormatError, StudioError
from studio.engine.formats import safetensors
from studio.engine.formats.checkpoint import FORMAT as CHECKPOINT
from studio.engine.formats.checkpoint import Checkpoint
from studio.engine.formats.gbasm import load_program_file
from studio.engine.formats.npy import load_npy, save_npy
from studio.engine.formats.npz import load_npz
from studio.engine.formats.safe_json import load_json
from studio.engine.interop.reading import load_weights
from studio.engine.isa.binary import encode_program
from studio.engine.isa.program import Program
from studio.engine.isa.text import format_program, parse_program
from studio.engine.train.devices import open_backend
from studio.engine.train.execute import run_program
from studio.engine.train.project import Project
from studio.engine.train.task import Task
from studio.engine.train.trained import Trained

REQUEST, REPLY = "request.json", "reply.json"
WEIGHTS, PROJECT = "weights.npz", "project.json"
PROGRAM_FORMS = ("gbi", "gbasm")

Array: TypeAlias = npt.NDArray[np.generic]
Reply: TypeAlias = dict[str, object]


def rows_name(index: int) -> str:
    """Name of the file with the raw samples of one input."""
    return f"rows-{index}.npy"


def answers_name(index: int) -> str:
    """Name of the file with the answers of one output."""
    return f"answers-{index}.npy"


def program_hash(program: Program) -> str:
    """SHA-256 of a program in its binary form."""
    return sha256(encode_program(program)).hexdigest()


def answer(folder: Path) -> Reply:
    """Do what the request in a folder asks; StudioError where the file does not load."""
    request = load_json(folder / REQUEST)
    if not isinstance(request, Mapping):
        raise FormatError("expected an object", who=REQUEST)
    form, path = str(request.get("form")), Path(str(request.get("file")))
    inputs = int(str(request.get("inputs")))
    rows = [load_npy(folder / rows_name(index)) for index in range(inputs)]
    if form in PROGRAM_FORMS:
        answers, reply = _of_program(path, folder, rows)
    else:
        answers, reply = _of_weights(path, folder, Path(str(request.get("folder"))), rows)
    for index, values in enumerate(answers):
        save_npy(folder / answers_name(index), values)
    return {**reply, "outputs": len(answers)}


def _of_program(path: Path, folder: Path, rows: list[Array]) -> tuple[list[Array], Reply]:
    """Answers of an instruction file; a listing gets its weights from beside the request."""
    found = load_program_file(path)
    verify(found.program, after=f"reading {path.name}")
    again = parse_program(format_program(found.program), path.name)
    weights = found.weights or load_npz(folder / WEIGHTS)
    with open_backend("cpu") as opened:
        answers = run_program(opened.backend, found.program, weights, rows)
    meta = found.program.meta
    return [np.asarray(a) for a in answers], {
        "program": program_hash(found.program),
        "assembled": program_hash(again),
        "class_names": _names(meta.get("class_names")),
        "normalization": meta.get("normalization"),
    }


def _of_weights(
    path: Path, folder: Path, base: Path, rows: list[Array]
) -> tuple[list[Array], Reply]:
    """Answers of the project with the weights of a file."""
    project = Project.load(folder / PROJECT)
    project.path = base / PROJECT
    task = Task.of_project(project)
    metadata = _metadata(path)
    with open_backend("cpu") as opened:
        weights = load_weights(path, task.graph)
        with Trained.of_weights(task, opened.backend, weights) as trained:
            answers = trained.predict_all(rows)
    stated = _names(metadata.get("class_names"))
    return [np.asarray(a) for a in answers], {
        "class_names": list(task.class_names) if stated is None else stated,
        "project_class_names": list(task.class_names),
        "normalization": metadata.get("normalization", task.facts.get("normalization")),
        "data_hash": metadata.get("data_sha256", task.data_hash),
    }


def _metadata(path: Path) -> Mapping[str, str]:
    """What a weights file says about itself; empty for an archive of arrays."""
    with path.open("rb") as file:
        if file.read(2) == b"PK":
            return {}
    _, metadata = safetensors.load(path)
    if metadata.get("format") == CHECKPOINT:
        found = Checkpoint.load(path).data_hash
        return {"data_sha256": found} if found else {}
    return metadata


def _names(text: str | None) -> list[str] | None:
    if text is None:
        return None
    found = json.loads(text)
    return [str(name) for name in found] if isinstance(found, list) else None


def main(arguments: list[str]) -> int:
    """Answer the request in a folder; 0 when the file was loaded, 1 when it was refused."""
    folder = Path(arguments[0])
    code = 0
    try:
        reply = answer(folder)
    except StudioError as error:
        reply, code = {"error": error.message, "who": error.who, "hint": error.hint}, 1
    (folder / REPLY).write_text(json.dumps(reply), encoding="utf-8")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
