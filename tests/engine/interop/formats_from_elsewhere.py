"""A file format in a module of its own outside the studio, as a plugin brings one."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from studio.engine.interop.file_format import FileFormat, file_formats

NAME = "glassbox_reversed_format"
MODULE = '''
from studio.engine.formats.atomic import write_atomic
from studio.engine.formats.npz import load_npz, save_npz
from studio.engine.interop.file_format import FileFormat, ModelFile

MAGIC = b"REVERSED"


class Reversed(FileFormat):
    """Weights as NumPy's archive, every byte of it the other way round."""

    name = "reversed"
    title = "Weights (reversed)"
    ending = ".reversed"
    about = "All weights, back to front."
    holds = "weights"
    words = ("backwards",)

    def sniff(self, head):
        return head.startswith(MAGIC)

    def write(self, model, path):
        save_npz(path, model.stored)
        write_atomic(path, MAGIC + path.read_bytes()[::-1])

    def read(self, path, graph=None):
        return ModelFile(load_npz(path.read_bytes()[len(MAGIC):][::-1]))

    def summary(self, content):
        yield "reversed archive"
        yield load_npz(content[len(MAGIC):][::-1])
'''


def known_formats() -> dict[str, FileFormat]:
    """Every format by its name, to come back to; one found only later would be lost by that."""
    return {form.name: form for form in file_formats()}


@contextmanager
def format_from_elsewhere(folder: Path, text: str) -> Iterator[ModuleType]:
    """Have the format of a module's text for as long as this lasts; child processes find it too."""
    folder.mkdir()
    (folder / f"{NAME}.py").write_text(text, encoding="utf-8")
    before = known_formats()
    sys.path.insert(0, str(folder))
    try:
        importlib.invalidate_caches()
        yield importlib.import_module(NAME)
    finally:
        sys.path.remove(str(folder))
        sys.modules.pop(NAME, None)
        FileFormat.members.clear()
        FileFormat.members.update(before)
