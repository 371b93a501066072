"""Programs of samples and of the corpus as rows, ready for views and models."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from studio.engine.compiler.lower import lower
from studio.engine.compiler.pipeline import compile_program
from studio.engine.compiler.target import GL, Target
from studio.engine.isa.program import Program
from studio.engine.layers.catalog import layer_class
from studio.engine.layers.graph import LayerGraph
from studio.engine.optim.emit_updates import emit_updates
from studio.engine.optim.optimizers import SGD
from studio.engine.train.network.programs import Programs
from studio.engine.train.project.project import Project
from studio.engine.train.project.task import Task
from studio.session.compile.provenance import Provenance
from studio.session.listing.rows import ProgramRows
from tests.instruction_view.corpus import program_of

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = sorted(path.stem for path in (ROOT / "projects").glob("*/*.glassbox"))
BATCH = 32


def sample_path(name: str) -> Path:
    return ROOT / "projects" / name / f"{name}.glassbox"


@cache
def sample_task(name: str) -> Task:
    return Task.of_project(Project.load(sample_path(name)))


@cache
def sample_program(name: str, mode: str = "train", target: Target = GL) -> Program:
    return Programs(sample_task(name)).compile(mode, 2, target)


def rows_from(program: Program) -> ProgramRows:
    return ProgramRows(program, Provenance(program), BATCH, 100)


def rows_of(name: str, mode: str = "train", level: int = 2) -> ProgramRows:
    return rows_from(program_of(name, mode, level))


def rows_with(middle: bool, units: int = 4, rate: float = 0.1) -> ProgramRows:
    """A small network with or without a layer in its middle: one edit and another compile."""
    graph = LayerGraph("net")
    x = graph.add(layer_class("Input")((6,)))
    x = graph.add(layer_class("Dense")(units, name="first"), x)
    if middle:
        x = graph.add(layer_class("Dropout")(rate, name="middle"), x)
    graph.outputs = (graph.add(layer_class("Dense")(2, "softmax", name="last"), x),)
    program = lower(graph, "train", loss="sparse_categorical_crossentropy")
    made = compile_program(program, GL, 2, emit_updates=lambda p: emit_updates(p, SGD()))
    return rows_from(made)
