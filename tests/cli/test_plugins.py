"""``glassbox plugins``, and what other commands say of a plugin that fails; each in its process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from studio.engine.core.app_dirs import CONFIG_VARIABLE
from studio.engine.plugins.enabling import FILE, VARIABLE
from studio.engine.plugins.finding import FOLDER

pytestmark = pytest.mark.slow


@pytest.fixture
def config(tmp_path: Path) -> Path:
    (tmp_path / FOLDER).mkdir()
    return tmp_path


def add(config: Path, name: str, text: str) -> None:
    (config / FOLDER / f"{name}.py").write_text(text)


def glassbox(config: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """A command of a user with that configuration."""
    own = {key: value for key, value in os.environ.items() if key != VARIABLE}
    return subprocess.run(
        [sys.executable, "-m", "studio", *words],
        env={**own, CONFIG_VARIABLE: str(config), **environment},
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


def switched_on(config: Path) -> dict[str, str]:
    found: dict[str, str] = json.loads((config / FILE).read_text())["enabled"]
    return found


def test_one_is_switched_on_listed_and_switched_off(config: Path) -> None:
    add(config, "calm", "__version__ = '1.5'\n")
    done = glassbox(config, "plugins", "--enable", "calm")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[1].split()[:2] == ["calm", "1.5"]
    assert done.stdout.rstrip().endswith("on")
    assert switched_on(config) == {"calm": "1.5"}
    done = glassbox(config, "plugins", "--disable", "calm")
    assert done.stdout.rstrip().endswith("turned off")
    assert switched_on(config) == {}


def test_a_failing_plugin_is_one_sentence(config: Path) -> None:
    add(config, "broken", "raise ValueError('no good')\n")
    done = glassbox(config, "plugins", "--enable", "broken")
    assert (done.returncode, done.stderr) == (0, "")
    assert "ValueError: no good" in done.stdout
    done = glassbox(config, "isa", "RELU")
    assert done.returncode == 0
    assert done.stderr == "glassbox: plugin broken was not loaded: ValueError: no good\n"


def test_the_json_has_the_traceback(config: Path) -> None:
    add(config, "broken", "def fail():\n    raise ValueError('no good')\n\nfail()\n")
    add(config, "calm", "")
    done = glassbox(config, "plugins", "--enable", "broken", "--enable", "calm", "--json")
    broken, calm = json.loads(done.stdout)
    assert "in fail\n" in broken["traceback"]
    assert calm["traceback"] == ""


def test_one_that_ends_the_process_can_be_switched_off(config: Path) -> None:
    add(config, "fatal", "import os\nos._exit(7)\n")
    assert glassbox(config, "plugins", "--enable", "fatal").returncode == 7
    done = glassbox(config, "plugins", "--disable", "fatal")
    assert done.returncode == 0
    assert switched_on(config) == {}


def test_one_that_cannot_be_switched_on_says_why(config: Path) -> None:
    add(config, "broken", "x = 1\ndef (:\n")
    done = glassbox(config, "plugins", "--enable", "broken")
    assert done.returncode == 2
    assert done.stderr == (
        "glassbox: [plugins] broken cannot be turned on: "
        "the file cannot be read: line 2: invalid syntax\n"
    )
    assert not (config / FILE).exists()


def test_a_file_with_no_name_for_a_plugin_is_listed(config: Path) -> None:
    add(config, "my-plugin", "raise ValueError('never run')\n")
    add(config, "_helper", "")
    done = glassbox(config, "plugins")
    assert "my-plugin.py" in done.stdout
    assert "rename the file" in done.stdout
    assert "_helper" not in done.stdout


def test_the_variable_decides_and_says_so(config: Path) -> None:
    add(config, "calm", "")
    done = glassbox(config, "plugins", "--enable", "calm", **{VARIABLE: ""})
    assert done.returncode == 0
    assert done.stdout.rstrip().endswith("turned off")
    assert VARIABLE in done.stderr
    assert switched_on(config) == {"calm": "0"}


def test_a_damaged_list_is_named_once(config: Path) -> None:
    add(config, "calm", "")
    (config / FILE).write_text("[]")
    done = glassbox(config, "isa", "RELU")
    assert done.returncode == 0
    assert done.stderr.count("expected a list of plugins") == 1
    assert done.stderr.startswith("glassbox: plugins were not loaded: ")


def test_a_plugin_that_fails_while_it_is_used_is_named(config: Path, tmp_path: Path) -> None:
    add(config, "broken", """
from studio.engine.layers.layer import Layer

class Fails(Layer):
    \"\"\"Fails.\"\"\"

    category = "core"

    def lower(self, context, x):
        raise ValueError("no good")
""")  # fmt: skip
    layers = [("input", "Input", {"shape": [4]}, []), ("mine", "Fails", {}, ["input"])]
    nodes = [
        {"id": name, "type": kind, "config": {"name": name, **options}, "inputs": inputs}
        for name, kind, options, inputs in layers
    ]
    project = tmp_path / "mine.glassbox"
    project.write_text(json.dumps({
        "format": "glassbox-project", "version": 1, "name": "mine",
        "graph": {"name": "mine", "nodes": nodes, "outputs": ["mine"]},
    }))  # fmt: skip
    done = glassbox(config, "compile", str(project), "--mode", "infer", **{VARIABLE: "broken"})
    assert done.returncode == 2
    path = config / FOLDER / "broken.py"
    assert done.stderr == (
        f"glassbox: the plugin broken 0 ({path}, line 10) failed: ValueError: no good\n"
    )
