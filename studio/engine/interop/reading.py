"""Reads files of models: which format a file has, and its weights for a network."""

from __future__ import annotations

from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from studio.engine.core.errors import CheckpointError, FormatError, quoted
from studio.engine.formats.byte_source import open_source
from studio.engine.formats.limits import DEFAULT_LIMITS
from studio.engine.interop.file_format import HEAD, FileFormat, file_formats
from studio.engine.layers.graph import LayerGraph

Array: TypeAlias = npt.NDArray[np.generic]


def import_endings() -> tuple[str, ...]:
    """Endings of files whose weights a project takes; none that ends in another of them."""
    found = [each.ending for each in file_formats() if each.can_import]
    return tuple(dict.fromkeys(
        e for e in found if not any(e != other and e.endswith(other) for other in found)
    ))  # fmt: skip


def model_names() -> tuple[str, ...]:
    """Endings of files that a new project is made from; of a format of several files the first."""
    names = (
        each.files[0] if each.files else each.ending for each in file_formats() if each.can_open
    )
    return tuple(dict.fromkeys(names))


def is_main_file(path: Path) -> bool:
    """Whether a file has the name of the first of several that make up a model."""
    return any(form.files and path.name == form.files[0] for form in file_formats())


def holds_model(path: Path) -> bool:
    """Whether a file or folder is taken for a model: by its content, else by its name."""
    place = main_file(path)
    if place.is_dir():
        return False
    try:
        found = format_of(place)
    except FormatError:
        # Why it cannot be read is best said when it is opened.
        found = None
    return place.name.lower().endswith(model_names()) if found is None else found.can_open


def model_format(path: Path | str) -> FileFormat:
    """The format of a file or folder that holds a model, by its content, else by its name.

    Raises:
        FormatError: it cannot be read, or holds no model.
    """
    found, names = format_of(path), model_names()
    if found is not None and found.can_open:
        return found
    place = main_file(path)
    if found is None:
        # What is wrong with it is best said by the reader of such files.
        closest = sorted(file_formats(), key=lambda each: -len(each.ending))
        for each in closest:
            wanted = each.files[0] if each.files else each.ending
            if each.can_open and place.name.lower().endswith(wanted):
                return each
    what = "a file of another kind" if found is None else f"{found.in_a_sentence} ({found.ending})"
    hint = ""
    if found is not None and found.can_import:
        hint = "open the project it is for and import the weights into it"
    raise FormatError(
        f"expected a model as {' or '.join(names)}, got {what}", who=str(path), hint=hint
    )


def main_file(path: Path | str) -> Path:
    """The file that stands for a folder as a format writes it; the path itself for any other."""
    place = Path(path)
    if place.is_dir():
        names = (form.files[0] for form in file_formats() if form.files)
        return next((place / name for name in names if (place / name).is_file()), place)
    return place


def format_of(path: Path | str) -> FileFormat | None:
    """The format of a file by its first bytes, or of a folder by those of its main file.

    Returns:
        The format; None where no format knows the bytes.

    Raises:
        FormatError: the file cannot be read.
    """
    with open_source(main_file(path), DEFAULT_LIMITS, "model file") as opened:
        head = opened.read(min(HEAD, opened.size))
    # A checkpoint is a safetensors file as well: the longer ending is the closer description.
    closest = sorted(file_formats(), key=lambda each: -len(each.ending))
    return next((each for each in closest if each.sniff(head)), None)


def load_weights(path: Path | str, graph: LayerGraph) -> dict[str, Array]:
    """Weights as stored for a graph, from a file of any format that holds weights.

    The format is recognised by the content, not by the name.

    Raises:
        FormatError: the file is damaged, or of another kind.
        CheckpointError, ShapeError: it does not fit the graph.
    """
    found = format_of(path)
    if found is None or not found.can_import:
        what = "a file of another kind"
        if found is not None:
            what = f"{found.in_a_sentence} ({found.ending})"
        raise FormatError(
            f"expected weights as {' or '.join(import_endings())}, got {what}", who=str(path)
        )
    weights = dict(found.read(Path(path), graph).weights)
    for name, values in weights.items():
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            raise CheckpointError(
                f"{quoted(name)} holds NaN or infinity",
                who=str(path),
                hint="its training diverged; use an earlier checkpoint",
            )
    return weights
