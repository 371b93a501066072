"""The names of ``studio.engine``: derived from the registries, and told to editors by a stub."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest

import studio.engine
from studio.engine.core.discovery import Registry, import_modules
from studio.engine.layers.dense import Dense
from studio.engine.layers.layer import Layer
from studio.engine.layers.symbol import input_symbol
from studio.engine.optim.losses import MeanSquaredError

ROOT = Path(__file__).resolve().parent.parent.parent


def stub() -> str:
    """The text of the stub: an import of every name, and ``__all__``."""
    names = public_names()
    imports = [(getattr(studio.engine, name).__module__, name) for name in names]
    imports[names.index("Input")] = input_symbol.__module__, "input_symbol as Input"
    lines = [f"from {module} import {name}" for module, name in sorted(imports)]
    listed = [f'    "{name}",' for name in names]
    comment = "# Written by pytest --update-golden tests/engine/test_public_names.py"
    return "\n".join([comment, *lines, "", "__all__ = [", *listed, "]", ""])


def run(code: str, *args: str, path: str = str(ROOT)) -> object:
    """What a child process prints as JSON, with the package found at ``path``."""
    answer = subprocess.run(
        [sys.executable, "-c", dedent(code), *args],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(sys.executable).parent,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert answer.returncode == 0, answer.stderr
    return json.loads(answer.stdout)


def public_names(path: str = str(ROOT)) -> list[str]:
    """The names another process finds: a test here may have derived a callback of its own."""
    code = """
    import json, studio.engine
    print(json.dumps([studio.engine.__file__, studio.engine.__all__]))
    """
    place, names = run(code, path=path)  # type: ignore[misc]
    assert place.startswith(path)
    return list(names)


@pytest.mark.slow
def test_the_stub_lists_what_there_is(golden: Callable[[str, str], None]) -> None:
    golden("../../studio/engine/__init__.pyi", stub())


def test_records_are_names_of_the_engine() -> None:
    assert studio.engine.Dense is Dense
    assert studio.engine.Input is input_symbol
    # A metric is called so too.
    assert studio.engine.MeanSquaredError is MeanSquaredError
    assert {"Dense", "Adam", "WarmUp", "EarlyStopping", "History"} <= set(dir(studio.engine))


@pytest.mark.parametrize("name", ["Dens", "dense", "catalog", "numpy", ""])
def test_another_name_is_refused(name: str) -> None:
    with pytest.raises(AttributeError, match=f"studio.engine has no '{name}'"):
        getattr(studio.engine, name)


def test_importing_the_engine_loads_no_part_of_it() -> None:
    code = """
    import json, sys, studio.engine
    try:
        studio.engine.dense
    except AttributeError:
        pass
    print(json.dumps(sorted(name for name in sys.modules if name.startswith("studio"))))
    """
    assert run(code) == ["studio", "studio.engine"]


@pytest.mark.slow
def test_records_are_found_in_a_zipped_package(tmp_path: Path) -> None:
    packed = tmp_path / "glassbox.zip"
    with zipfile.ZipFile(packed, "w") as archive:
        for file in [ROOT / "studio" / "__init__.py", *(ROOT / "studio" / "engine").rglob("*.py")]:
            archive.write(file, file.relative_to(ROOT).as_posix())
    assert public_names(str(packed)) == public_names()


def test_modules_are_imported_in_name_order() -> None:
    names = import_modules("studio.engine.layers")
    assert "studio.engine.layers.dense" in names
    assert list(names) == sorted(names)
    assert set(names) <= set(sys.modules)


def test_members_are_listed_by_their_place_then_by_module() -> None:
    class First:
        order = 5

        @classmethod
        def listed_at(cls) -> tuple[int, ...]:
            return (cls.order,)

    class Second(First):
        order = 1

    class Third(First):
        __module__ = "a"

    found = Registry[First]()
    for cls in (First, Second, Third):
        found.add(cls)
    assert list(found) == ["Second", "Third", "First"]
    assert (len(found), found.find("First"), found.find("no"), found.find(3)) == (
        3,
        First,
        None,
        None,
    )


def test_two_classes_cannot_have_one_name() -> None:
    with pytest.raises(TypeError, match=r"'Dense' of .* is taken by a class of .*layers.dense"):
        Layer.members.add(type("Dense", (Dense.__base__,), {"category": "core"}, abstract=True))
    assert Layer.members["Dense"] is Dense


def test_a_layer_states_a_known_category() -> None:
    with pytest.raises(TypeError, match=r"Odd\.category: expected one of core, .*, got 'odd'"):
        type("Odd", (Layer,), {"category": "odd"})
    assert "Odd" not in Layer.members
