"""Finding, switching on and loading plugins, each in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from studio.engine.core.errors import StudioError
from studio.engine.plugins.enabling import (
    FILE,
    VARIABLE,
    enabled_plugins,
    set_enabled,
)
from studio.engine.plugins.finding import FOLDER, find_plugins
from studio.engine.plugins.plugin import Plugin

LAYER = '''
__version__ = "1.2"
from studio.engine.core.options import number
from studio.engine.isa.ops.arithmetic import Scale
from studio.engine.layers.layer import Layer

class {name}(Layer{more}):
    """Multiplies by a number."""

    category = "core"
    factor = number("Factor.", 2.0)

    def lower(self, context, *inputs):
        """SCALE."""
        return context.emit(Scale, x=inputs[0], alpha=self.factor)
'''

REPORT = """
import json, sys
from pathlib import Path
from studio.engine.plugins.loading import load_plugins
states = load_plugins(Path(sys.argv[1]))
from studio.engine.layers.catalog import all_layers
from studio.engine.plugins.plugin import loaded_plugins
print(json.dumps({
    "all": [[s.found.plugin.name, s.problem] for s in states],
    "states": {s.found.plugin.name: [s.problem, s.failed] for s in states},
    "layers": [c.__name__ for c in all_layers()],
    "loaded": [f"{p.name} {p.version}" for p in loaded_plugins()],
}))
"""


def plugin(config: Path, name: str, text: str) -> Path:
    folder = config / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.py"
    path.write_text(dedent(text))
    return path


def report(config: Path, **environment: str) -> dict[str, Any]:
    """What a fresh process says that loads the plugins of a folder."""
    found = {k: v for k, v in os.environ.items() if k != VARIABLE}
    done = subprocess.run(
        [sys.executable, "-c", REPORT, str(config)],
        env={**found, **environment}, capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


@pytest.mark.slow
def test_a_plugin_is_loaded_once_it_is_switched_on(tmp_path: Path) -> None:
    plugin(tmp_path, "doubling", LAYER.format(name="Doubling", more=""))
    (found,) = find_plugins(tmp_path)
    assert found.plugin == Plugin("doubling", "1.2")
    answer = report(tmp_path)
    assert answer["states"] == {"doubling": ["turned off", False]}
    assert "Doubling" not in answer["layers"]
    set_enabled(tmp_path, found.plugin, on=True)
    answer = report(tmp_path)
    assert answer["states"] == {"doubling": ["", False]}
    assert answer["loaded"] == ["doubling 1.2"]
    assert "Doubling" in answer["layers"]
    set_enabled(tmp_path, found.plugin, on=False)
    assert report(tmp_path)["loaded"] == []


@pytest.mark.slow
def test_another_version_is_not_what_was_switched_on(tmp_path: Path) -> None:
    plugin(tmp_path, "doubling", LAYER.format(name="Doubling", more=""))
    set_enabled(tmp_path, Plugin("doubling", "1.1"), on=True)
    assert report(tmp_path)["states"] == {
        "doubling": ["version 1.1 was turned on, this is 1.2", True]
    }


@pytest.mark.slow
def test_the_variable_says_all(tmp_path: Path) -> None:
    plugin(tmp_path, "doubling", LAYER.format(name="Doubling", more=""))
    set_enabled(tmp_path, Plugin("doubling", "1.2"), on=True)
    assert report(tmp_path, **{VARIABLE: ""})["loaded"] == []
    assert report(tmp_path, **{VARIABLE: "doubling"})["loaded"] == ["doubling 1.2"]
    assert report(tmp_path, **{VARIABLE: "doubling==1.2, "})["loaded"] == ["doubling 1.2"]
    assert report(tmp_path, **{VARIABLE: "absent"})["states"] == {
        "absent": ["it is not installed", True],
        "doubling": ["turned off", False],
    }


INSTRUCTION = '''
from studio.engine.isa.families import Unary
from studio.engine.isa.meaning import Activation

class Mine(Unary, code=990, mnemonic="MINE", category="activation"):
    """Twice as much."""

    synopsis = "{{y}} = mine({{x}})"
    formula = "2 * x"
    functions = {{"{name}": Activation("2·x.", aliases=("{alias}",))}}
'''


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("raise ValueError('no good')", "ValueError: no good"),
        ("import sys\nsys.exit(3)", "SystemExit: 3"),
        ("import nowhere_at_all", "ModuleNotFoundError"),
        ("def broken(:", "the file cannot be read"),
        (LAYER.format(name="Dense", more=""), "'Dense'"),
        (LAYER.format(name="Half", more="") + "\nraise OSError('late')", "OSError: late"),
        (
            LAYER.format(name="Half", more=", aliases=('Dense',)"),
            "'Dense'",
        ),
        (INSTRUCTION.format(name="relu", alias="mine"), "the activation 'relu'"),
        (INSTRUCTION.format(name="mine", alias="swish"), "the activation 'swish'"),
    ],
    ids=["raises", "exits", "imports", "syntax", "replaces", "late", "alias", "activation",
         "alias of an activation"],
)  # fmt: skip
def test_one_that_fails_is_named_and_left_out(tmp_path: Path, text: str, said: str) -> None:
    plugin(tmp_path, "broken", text)
    plugin(tmp_path, "doubling", LAYER.format(name="Doubling", more=""))
    answer = report(tmp_path, **{VARIABLE: "broken,doubling"})
    problem, failed = answer["states"]["broken"]
    assert said in problem
    assert failed
    assert answer["loaded"] == ["doubling 1.2"]
    assert {"Doubling", "Dense"} <= set(answer["layers"])
    assert "Half" not in answer["layers"]


@pytest.mark.slow
def test_an_installed_package_is_a_plugin(tmp_path: Path) -> None:
    site = tmp_path / "site"
    package = site / "acme_layers-3.1.dist-info"
    package.mkdir(parents=True)
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-layers\nVersion: 3.1\n")
    (package / "entry_points.txt").write_text("[glassbox.plugins]\nacme = acme_layers.layers\n")
    (site / "acme_layers").mkdir()
    (site / "acme_layers" / "__init__.py").write_text("")
    (site / "acme_layers" / "layers.py").write_text(LAYER.format(name="Acme", more=""))
    path = os.pathsep.join([str(site), *sys.path])
    answer = report(tmp_path / "config", PYTHONPATH=path, **{VARIABLE: "acme"})
    assert answer["loaded"] == ["acme 3.1"]
    assert "Acme" in str(answer["layers"])


@pytest.mark.slow
def test_an_installed_one_with_no_name_for_a_plugin_is_listed(tmp_path: Path) -> None:
    about = tmp_path / "site" / "acme_layers-3.1.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-layers\nVersion: 3.1\n")
    (about / "entry_points.txt").write_text("[glassbox.plugins]\nacme-layers = acme_layers\n")
    (tmp_path / FOLDER).mkdir()
    path = os.pathsep.join([str(about.parent), *sys.path])
    answer = report(tmp_path, PYTHONPATH=path)
    problem, failed = answer["states"]["acme-layers"]
    assert "expected a name of letters, digits and _" in problem
    assert not failed


@pytest.mark.slow
def test_of_two_with_one_name_the_installed_one_is_taken(tmp_path: Path) -> None:
    site = tmp_path / "site"
    for name in ("beta_layers", "acme_layers"):
        about = site / f"{name}-3.1.dist-info"
        about.mkdir(parents=True)
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 3.1\n")
        (about / "entry_points.txt").write_text(f"[glassbox.plugins]\nacme = {name}\n")
        (site / f"{name}.py").write_text(LAYER.format(name=name.title().replace("_", ""), more=""))
    plugin(tmp_path / "config", "acme", "__version__ = '3.1'\n" + LAYER.format(name="Own", more=""))
    path = os.pathsep.join([str(site), *sys.path])
    answer = report(tmp_path / "config", PYTHONPATH=path, **{VARIABLE: "acme"})
    assert answer["loaded"] == ["acme 3.1"]
    assert sum(name in answer["layers"] for name in ("AcmeLayers", "BetaLayers", "Own")) == 1
    assert "Own" not in answer["layers"]
    problems = [problem for name, problem in answer["all"] if name == "acme"]
    assert problems[0] == ""
    assert all("a plugin of this name is installed with " in each for each in problems[1:])
    assert len(problems) == 3


@pytest.mark.parametrize("version", ["1.0, beta", "1==2", "", "a b"])
def test_a_version_is_what_a_list_can_hold(tmp_path: Path, version: str) -> None:
    plugin(tmp_path, "calm", f"__version__ = {version!r}")
    (found,) = find_plugins(tmp_path)
    assert found.plugin == Plugin("calm", "0")


@pytest.mark.slow
@pytest.mark.parametrize("text", ["", "[]", '{"enabled": 3}', '{"enabled": {"a": 1}}', "\0"])
def test_a_damaged_list_loads_nothing(tmp_path: Path, text: str) -> None:
    plugin(tmp_path, "doubling", LAYER.format(name="Doubling", more=""))
    (tmp_path / FILE).write_text(text)
    with pytest.raises(StudioError):
        enabled_plugins(tmp_path)
    assert report(tmp_path)["loaded"] == []
    set_enabled(tmp_path, Plugin("doubling", "1.2"), on=True)
    assert report(tmp_path)["loaded"] == ["doubling 1.2"]


def test_the_variable_names_plugins(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(VARIABLE, "a b")
    with pytest.raises(StudioError, match="names of plugins"):
        enabled_plugins(tmp_path)
