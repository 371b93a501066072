"""Instruction listings, ``.gbasm``: a program as text, without weights."""

from __future__ import annotations

from pathlib import Path

from studio.engine.formats.gbasm import load_gbasm, save_gbasm
from studio.engine.interop.file_format import Exportable, FileFormat, ModelFile
from studio.engine.interop.small_weights import CHANNEL_FORMS
from studio.engine.layers.graph import LayerGraph


class InstructionListing(FileFormat):
    """The program as it is read and edited."""

    name = "gbasm"
    title = "Instruction listing"
    ending = ".gbasm"
    about = "The program as text to read and edit; without weights."
    holds = "program"
    has_weights = False
    is_text = True
    order = 20
    weight_forms = CHANNEL_FORMS

    def sniff(self, head: bytes) -> bool:
        return head.lstrip().startswith(b".glassbox")

    def write(self, model: Exportable, path: Path) -> None:
        save_gbasm(path, model.program[0])

    def read(self, path: Path, graph: LayerGraph | None = None) -> ModelFile:
        program = load_gbasm(path)
        return ModelFile({}, program, program.meta)
