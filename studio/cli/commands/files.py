"""``glassbox asm``, ``dis`` and ``exec``: instruction files between text, bytes and answers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from studio.cli import console
from studio.cli.options import BackendOption, JsonOption
from studio.engine.compiler.verify import verify
from studio.engine.core.errors import DataError, FormatError
from studio.engine.formats.gbasm import load_gbasm, save_gbasm
from studio.engine.formats.gbi import load_gbi, save_gbi
from studio.engine.formats.npy import load_npy, save_npy
from studio.engine.formats.npz import load_npz
from studio.engine.isa import ops
from studio.engine.isa.text import format_program
from studio.engine.train.network.execute import execute

ALL_FAMILIES = ops.__all__


def assemble(
    source: Annotated[Path, typer.Argument(help="Listing to read (.gbasm).")],
    target: Annotated[Path, typer.Argument(help="Instruction file to write (.gbi).")],
    weights: Annotated[
        Path | None,
        typer.Option("--weights", help="Instruction file to take the weights from (.gbi)."),
    ] = None,
) -> None:
    """Turn a listing into a binary instruction file."""
    program = load_gbasm(source)
    verify(program, after="reading")
    carried = load_gbi(weights).weights if weights is not None else None
    save_gbi(target, program, carried)
    console.say(f"{target}: {len(program)} instructions, {len(program.tensors)} tensors")


def disassemble(
    source: Annotated[Path, typer.Argument(help="Instruction file to read (.gbi).")],
    target: Annotated[
        Path | None, typer.Argument(help="Listing to write (.gbasm); printed if not given.")
    ] = None,
    skip_unknown: Annotated[
        bool, typer.Option("--skip-unknown", help="Skip instructions with unknown opcodes.")
    ] = False,
) -> None:
    """Turn a binary instruction file into a listing."""
    program = load_gbi(source, skip_unknown=skip_unknown).program
    if target is None:
        console.say(format_program(program))
        return
    save_gbasm(target, program)
    console.say(f"{target}: {len(program)} instructions, {len(program.tensors)} tensors")


def execute_file(
    source: Annotated[Path, typer.Argument(help="Instruction file that carries weights (.gbi).")],
    rows: Annotated[
        Path,
        typer.Option(
            "--input", help="Raw inputs, one row each: .npy, or .npz with x.", metavar="FILE"
        ),
    ],
    answers: Annotated[
        Path | None,
        typer.Option("--output", help="File for the outputs (.npy).", metavar="FILE"),
    ] = None,
    backend: BackendOption = "auto",
    as_json: JsonOption = False,
) -> None:
    """Run an instruction file on raw inputs, any number of rows."""
    if answers is None and not as_json:
        raise FormatError("give --output FILE.npy or --json",
                          who="exec")  # fmt: skip
    outputs = execute(source, _rows(rows), backend)
    if answers is not None:
        save_npy(answers, outputs)
    if as_json:
        console.answer_json({"shape": list(outputs.shape), "outputs": np.asarray(outputs).tolist()})
    else:
        console.say(f"{answers}: {outputs.dtype}{list(outputs.shape)}")


def _rows(path: Path) -> np.ndarray:
    """The array of a file: of an archive the only one, or the one called x."""
    if path.suffix.lower() != ".npz":
        return load_npy(path)
    arrays = load_npz(path)
    name = next(iter(arrays)) if len(arrays) == 1 else "x"
    if name not in arrays:
        held = ", ".join(repr(each) for each in list(arrays)[:8])
        raise DataError(f"there is no array 'x': it holds {held or 'nothing'}", who=str(path))
    return arrays[name]
