"""What importing the engine loads, seen from fresh interpreters."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent

QT = {"PySide6", "shiboken6", "pyqtgraph"}
# What only the window imports, which stands on this engine in a package of its own.
FOR_THE_WINDOW = {"pyside6-essentials", "shiboken6", "pyqtgraph"}
# mpi4py is imported by its name, where several workers train, and loads the library of mpich.
BY_NAME = {"mpi4py", "mpich"}
OPENGL = {"moderngl", "glcontext"}

# Imports the modules one by one and answers, for each watched package, who first brought it in.
CHILD = """
import importlib, json, sys
modules, watched = json.loads(sys.argv[1])
brought = {}
for module in modules:
    importlib.import_module(module)
    for package in watched:
        if package in sys.modules:
            brought.setdefault(package, module)
sys.stdout.write(json.dumps(brought))
"""


def modules_below(package: str) -> list[str]:
    folder = ROOT.joinpath(*package.split("."))
    names = []
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        names.append(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
    return names


def brought_in(modules: list[str], watched: set[str]) -> dict[str, str]:
    answer = subprocess.run(
        [sys.executable, "-c", CHILD, json.dumps([modules, sorted(watched)])],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr
    return dict(json.loads(answer.stdout))


@pytest.mark.slow
@pytest.mark.parametrize(
    "package", ["studio.session", "studio.session.document", "studio.session.listing"]
)
def test_importing_the_models_loads_no_qt(package: str) -> None:
    assert brought_in(modules_below(package), QT) == {}


def test_importing_the_engine_loads_neither_qt_nor_opengl() -> None:
    assert brought_in(["studio.engine"], QT | OPENGL) == {}


def test_a_worker_and_the_command_of_sweeps_load_neither_optuna_nor_dask() -> None:
    modules = ["studio.cli.commands.sweeping", "studio.engine.scale.sweep.worker_process"]
    assert brought_in(modules, {"optuna", "distributed"}) == {}


@pytest.mark.slow
def test_no_module_of_engine_or_command_line_loads_qt() -> None:
    modules = modules_below("studio.engine") + modules_below("studio.cli")
    assert brought_in(modules, QT) == {}


@pytest.mark.slow
def test_only_the_gl_backend_loads_moderngl() -> None:
    modules = modules_below("studio.engine") + modules_below("studio.cli")
    rest = [name for name in modules if not name.startswith("studio.engine.gl")]
    assert brought_in(rest, OPENGL) == {}


def test_the_watch_sees_what_a_module_brings_in() -> None:
    assert brought_in(["studio.engine", "moderngl"], OPENGL | QT) == {"moderngl": "moderngl"}


@pytest.mark.parametrize("hidden", ["PySide6", "moderngl"])
def test_engine_imports_where_a_graphics_package_is_not_installed(hidden: str) -> None:
    code = f"import sys; sys.modules[{hidden!r}] = None; import studio.engine, studio.samples"
    answer = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert answer.returncode == 0, answer.stderr


@cache
def distributions() -> Mapping[str, list[str]]:
    """What is installed, by the packages each distribution holds."""
    return packages_distributions()


@cache
def packages_imported_by(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add((node.module or "").partition(".")[0])
    return names - sys.stdlib_module_names - {"studio"}


@pytest.mark.slow
def test_everything_imported_is_installed_without_the_test_packages() -> None:
    locks = [ROOT / "requirements" / f"{group}.lock" for group in ("run", "scale")]
    lines = [line for lock in locks for line in lock.read_text(encoding="utf-8").splitlines()]
    pinned = {canonicalize_name(line.partition("==")[0]) for line in lines}
    holders = distributions()
    foreign = [
        f"{path.relative_to(ROOT).as_posix()} imports {name}"
        for path in sorted((ROOT / "studio").rglob("*.py"))
        for name in sorted(packages_imported_by(path))
        if not pinned & {canonicalize_name(held) for held in holders.get(name, ())}
    ]
    assert foreign == []


@pytest.mark.slow
def test_every_run_time_dependency_is_imported_and_declared() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needs = [*project["dependencies"], *project["optional-dependencies"]["scale"]]
    declared = {canonicalize_name(Requirement(text).name) for text in needs}
    holders = distributions()
    imported = {
        canonicalize_name(held)
        for path in (ROOT / "studio").rglob("*.py")
        for name in packages_imported_by(path)
        for held in holders.get(name, ())
    }
    assert declared - FOR_THE_WINDOW - BY_NAME == imported - FOR_THE_WINDOW
