"""The starter: old interpreters, a bare system, interrupted set-ups, and the test options."""

from __future__ import annotations

import ast
import errno
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

ROOT = Path(__file__).resolve().parent.parent
START = ROOT / "start.py"
POSIX = pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX system")


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A ``start.py`` of the test's own, as if cloned into an empty folder with nothing to pin."""
    copy = tmp_path / "clone" / "start.py"
    (copy.parent / "requirements").mkdir(parents=True)
    (copy.parent / "studio").mkdir()
    (copy.parent / "studio" / "__init__.py").touch()
    (copy.parent / "studio" / "__main__.py").write_text(
        "import sys\nsys.stdout.write(repr(sys.argv[1:]))\n", encoding="utf-8"
    )
    for group in ("run", "scale", "test", "peers"):
        (copy.parent / "requirements" / f"{group}.lock").touch()
    (copy.parent / "tools").mkdir()
    (copy.parent / "tools" / "peer_programs.py").touch()
    shutil.copy(START, copy)
    spec = importlib.util.spec_from_file_location("start_under_test", copy)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "loads", lambda library: True)
    return module


def pins(group: str) -> dict[str, list[Requirement]]:
    """The pinned packages of a lock file that hold for this interpreter, by canonical name."""
    text = (ROOT / "requirements" / f"{group}.lock").read_text(encoding="utf-8")
    pinned: dict[str, list[Requirement]] = {}
    for line in text.splitlines():
        requirement = Requirement(line)
        if requirement.marker is None or requirement.marker.evaluate():
            pinned.setdefault(canonicalize_name(requirement.name), []).append(requirement)
    return pinned


def run_start(clone: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(clone / "start.py"), *words],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        stdin=subprocess.DEVNULL,
    )


# ------------------------------------------------------------------ old interpreters


def test_file_parses_as_python_3_6() -> None:
    ast.parse(START.read_text(encoding="utf-8"), feature_version=(3, 6))


def test_older_python_gets_one_sentence() -> None:
    code = (
        "import sys; sys.version_info = (3, 9, 2)\n"
        f"exec(compile(open({str(START)!r}, encoding='utf-8').read(), 'start.py', 'exec'))"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert answer.returncode == 1
    assert "needs Python 3.11 or newer" in answer.stderr
    assert "Python 3.9." in answer.stderr
    assert len(answer.stderr.strip().splitlines()) == 1


def test_only_the_standard_library_is_imported() -> None:
    tree = ast.parse(START.read_text(encoding="utf-8"))
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add((node.module or "").partition(".")[0])
    assert names <= sys.stdlib_module_names


# ------------------------------------------------------------------ lock files


@pytest.mark.parametrize("group", ["run", "scale", "test", "peers"])
def test_every_package_is_pinned_to_one_exact_version(group: str) -> None:
    for name, requirements in pins(group).items():
        assert len(requirements) == 1, name
        assert re.fullmatch(r"==[0-9][^*,]*", str(requirements[0].specifier)), name


def test_old_qt_for_python_3_11() -> None:
    text = (ROOT / "requirements" / "run.lock").read_text(encoding="utf-8")
    for line in text.splitlines():
        wanted = Requirement(line)
        if wanted.name == "pyside6-essentials":
            on_3_11 = wanted.marker is None or wanted.marker.evaluate(
                {"python_full_version": "3.11.9"}
            )
            assert not on_3_11 or "6.12" not in str(wanted.specifier)


@pytest.mark.parametrize("groups", [("run",), ("run", "scale"), ("run", "test")])
def test_locks_hold_all_that_their_packages_need(groups: tuple[str, ...]) -> None:
    pinned = {name for group in groups for name in pins(group)}
    missing = set()
    for name in pinned:
        for text in metadata.requires(name) or ():
            need = Requirement(text)
            wanted = need.marker is None or need.marker.evaluate({"extra": ""})
            if wanted and canonicalize_name(need.name) not in pinned:
                missing.add(f"{name} needs {need.name}")
    assert missing == set()


def test_locks_satisfy_the_project_file() -> None:
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for extra in ("scale", "test"):
        pinned = pins("run") | pins(extra)
        for text in [*project["dependencies"], *project["optional-dependencies"][extra]]:
            need = Requirement(text)
            if need.marker is None or need.marker.evaluate():
                version = str(pinned[canonicalize_name(need.name)][0].specifier).removeprefix("==")
                assert need.specifier.contains(version), text


def test_tests_use_the_versions_that_sweeps_are_set_up_with() -> None:
    own, tested = pins("scale"), pins("run") | pins("test")
    for name in own:
        assert own[name][0].specifier == tested[name][0].specifier, name


def test_peers_hold_the_agreed_torch() -> None:
    assert str(pins("peers")["torch"][0].specifier) == "==2.13.0"


# ------------------------------------------------------------------ system libraries


def answer_of(text: str) -> subprocess.CompletedProcess[str]:
    return subprocess.CompletedProcess([], 0, text, "")


def test_package_of_this_release_is_chosen(
    start: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = (
        "libgl1:\n  Installed: (none)\n  Candidate: 1.7\n"
        "libglib2.0-0t64:\n  Candidate: 2.84\nlibglib2.0-0:\n  Candidate: (none)\n"
    )
    monkeypatch.setattr(start.subprocess, "run", lambda *a, **k: answer_of(policy))
    wanted = [("libgl1",), ("libglib2.0-0t64", "libglib2.0-0")]
    assert start.choose_packages(wanted) == ["libgl1", "libglib2.0-0t64"]
    older = policy.replace("2.84", "(none)").replace("libglib2.0-0:\n  Candidate: (none)", "")
    monkeypatch.setattr(start.subprocess, "run", lambda *a, **k: answer_of(older))
    assert start.choose_packages(wanted) == ["libgl1", "libglib2.0-0"]


def bare_debian(start: ModuleType, monkeypatch: pytest.MonkeyPatch, *programs: str) -> None:
    """No OpenGL library, no root; apt-get and the named programs are there."""
    known = {"apt-get", "Xvfb", *programs}
    monkeypatch.setattr(start, "LINUX", True)
    monkeypatch.setattr(start, "loads", lambda library: library != "libGL.so.1")
    monkeypatch.setattr(start, "root_prefix", lambda: None)
    monkeypatch.setattr(start, "choose_packages", lambda wanted: [held[-1] for held in wanted])
    monkeypatch.setattr(start.os, "geteuid", lambda: 1000, raising=False)
    monkeypatch.setattr(start.shutil, "which", lambda name: name if name in known else None)


def test_tests_need_the_font_of_the_pictures(
    start: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    bare_debian(start, monkeypatch)
    monkeypatch.setattr(start, "loads", lambda library: True)
    monkeypatch.setattr(start, "FONTS", tmp_path)
    assert start.missing_from_system("studio") == {}
    assert start.missing_from_system("tests") == {"DejaVuSans.ttf": ("fonts-dejavu-core",)}
    font = tmp_path / "truetype" / "dejavu" / "DejaVuSans.ttf"
    font.parent.mkdir(parents=True)
    font.touch()
    assert start.missing_from_system("tests") == {}


def test_user_without_root_is_told_what_to_type(
    start: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    bare_debian(start, monkeypatch, "sudo")
    advice = start.set_up_system("studio", needs_venv=False)
    assert advice.endswith(
        "\n  sudo apt-get update && sudo apt-get install -y --no-install-recommends libgl1"
    )
    bare_debian(start, monkeypatch)
    advice = start.set_up_system("studio", needs_venv=False)
    assert advice.endswith(
        "\n  su -c 'apt-get update && apt-get install -y --no-install-recommends libgl1'"
    )


def test_missing_venv_module_is_named_with_its_package(
    start: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    bare_debian(start, monkeypatch, "sudo")
    monkeypatch.setattr(start, "has_module", lambda name: False)
    advice = start.set_up_system("terminal", needs_venv=True)
    assert advice.endswith("install -y --no-install-recommends python3-venv")
    with pytest.raises(start.SetupError, match=r"venv or pip is missing") as caught:
        start.create_environment(advice)
    assert advice in str(caught.value)


def test_system_without_apt_gets_the_names(
    start: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    bare_debian(start, monkeypatch)
    monkeypatch.setattr(start.shutil, "which", lambda name: None)
    assert "libGL.so.1" in start.set_up_system("studio", needs_venv=False)


# ------------------------------------------------------------------ what pip says


@pytest.mark.parametrize(
    ("output", "sentence"),
    [
        ("NewConnectionError: Failed to establish a new connection", "no way to the package index"),
        ("SSLError(1, '[SSL: CERTIFICATE_VERIFY_FAILED]')\nMax retries exceeded", "PIP_CERT"),
        ("ERROR: [Errno 28] No space left on device", "disk is full"),
        ("ERROR: No matching distribution found for numpy==9", "no ready-made numpy==9"),
        ("note\nERROR: odd thing\nafterwards", "ERROR: odd thing"),
    ],
)
def test_failed_install_is_one_sentence(start: ModuleType, output: str, sentence: str) -> None:
    text = start.explain_pip(output)
    assert sentence in text
    assert "\n" not in text


# ------------------------------------------------------------------ whole set-ups


@POSIX
@pytest.mark.slow
def test_set_up_survives_interruption_and_is_done_once(start: ModuleType, tmp_path: Path) -> None:
    clone = start.ROOT
    half_made = clone / ".venv"
    half_made.mkdir()
    (half_made / "glassbox-unfinished").touch()
    (half_made / "rubbish").touch()
    start.set_up(("run",), "terminal")
    assert not (half_made / "rubbish").exists()
    assert not start.UNFINISHED.exists()
    stamp = json.loads(start.STAMP.read_text(encoding="utf-8"))
    assert stamp["python"] == "{}.{}".format(*sys.version_info)

    before = start.STAMP.stat().st_mtime_ns
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "studio").mkdir(parents=True)
    answer = subprocess.run(
        [sys.executable, str(clone / "start.py"), "train", "a b", "--json"],
        cwd=elsewhere,
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.stdout == "['train', 'a b', '--json']"
    assert answer.stderr == ""
    assert start.STAMP.stat().st_mtime_ns == before

    moved = clone.rename(tmp_path / "moved")
    script = subprocess.run(
        [moved / ".venv" / "bin" / "glassbox", "isa"], capture_output=True, text=True, check=False
    )
    assert script.stdout == "['isa']"


def test_changed_lock_or_other_python_asks_for_a_set_up(
    start: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    start.venv_python().parent.mkdir(parents=True)
    start.venv_python().touch()
    start.write_stamp({"run": start.fingerprint("run"), "system": "studio"})
    assert start.is_set_up(("run",), "terminal", start.read_stamp())
    assert start.is_set_up(("run",), "studio", start.read_stamp())
    assert not start.is_set_up(("run",), "tests", start.read_stamp())
    assert not start.is_set_up(("run", "test"), "studio", start.read_stamp())
    start.lock_file("run").write_text("numpy==1.0\n", encoding="utf-8")
    assert not start.is_set_up(("run",), "studio", start.read_stamp())
    monkeypatch.setattr(start, "python_tag", lambda: "3.99")
    assert start.read_stamp() == {}


@pytest.mark.parametrize(
    ("words", "groups"),
    [([], ("run",)), (["train", "sweep"], ("run",)), (["sweep", "x"], ("run", "scale"))],
)
def test_sweeps_are_set_up_when_they_are_asked_for(
    start: ModuleType, monkeypatch: pytest.MonkeyPatch, words: list[str], groups: tuple[str, ...]
) -> None:
    asked: list[tuple[str, ...]] = []
    monkeypatch.setattr(start, "set_up", lambda groups, level: asked.append(groups))
    monkeypatch.setattr(start, "hand_over", lambda arguments: 0)
    assert start.main(words) == 0
    assert asked == [groups]


def test_another_version_of_a_peer_program_asks_for_a_set_up(start: ModuleType) -> None:
    before = {group: start.fingerprint(group) for group in ("run", "scale", "test", "peers")}
    start.PROGRAMS.write_text("PACKAGE = 'newer'\n", encoding="utf-8")
    after = {group: start.fingerprint(group) for group in before}
    assert {group for group in before if before[group] != after[group]} == {"peers"}


def test_peers_that_are_no_packages_are_set_up_with_the_peers(
    start: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    commands: list[list[str]] = []

    def ran(command: list[str], on_line: Callable[[str], object] = len) -> tuple[int, str]:
        commands.append(command)
        is_ours = command[-1] == str(start.PROGRAMS)
        on_line("tfjs (30 MB)\n" if is_ours else "")
        return (1, "npm could not fetch it: no way\n") if is_ours and fails else (0, "")

    monkeypatch.setattr(start, "run_logged", ran)
    monkeypatch.setattr(start, "pip_from_outside", lambda: ["pip"])
    fails = False
    start.install("test")
    assert [command[0] for command in commands] == ["pip"]
    start.install("peers")
    assert commands[-1] == [str(start.venv_python()), str(start.PROGRAMS)]
    assert "  tfjs (30 MB)\n" in capsys.readouterr().err
    fails = True
    with pytest.raises(start.SetupError, match=r"^npm could not fetch it: no way\. All of it"):
        start.install("peers")


def test_environment_without_its_interpreter_counts_as_nothing(start: ModuleType) -> None:
    start.VENV.mkdir()
    start.write_stamp({"run": start.fingerprint("run"), "system": "studio"})
    assert start.read_stamp() == {}


@POSIX
@pytest.mark.skipif(hasattr(os, "geteuid") and os.geteuid() == 0, reason="root may write anywhere")
def test_read_only_folder_is_one_sentence(start: ModuleType) -> None:
    start.ROOT.chmod(0o555)
    try:
        answer = run_start(start.ROOT, "demo")
    finally:
        start.ROOT.chmod(0o755)
    assert answer.returncode == 2
    assert "cannot be written to" in answer.stderr
    assert "Traceback" not in answer.stderr


def test_folder_that_cannot_be_written_is_one_sentence(start: ModuleType) -> None:
    start.NOTES.touch()
    answer = run_start(start.ROOT, "demo")
    assert answer.returncode == 2
    assert "cannot be written to" in answer.stderr
    assert len(answer.stderr.strip().splitlines()) == 1


@POSIX
def test_second_set_up_waits_for_the_first(
    start: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    order = []

    def second() -> None:
        with start.only_one_set_up():
            order.append("second")

    waiting = threading.Thread(target=second)
    with start.only_one_set_up():
        waiting.start()
        deadline = time.monotonic() + 10.0
        while "Waiting for another" not in capsys.readouterr().err:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        order.append("first")
    waiting.join()
    assert order == ["first", "second"]


def test_remains_that_cannot_be_removed_are_one_sentence(
    start: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    start.VENV.mkdir()
    start.UNFINISHED.touch()
    monkeypatch.setattr(start.shutil, "rmtree", refuse)
    with pytest.raises(start.SetupError, match=r"\.venv cannot be written to \(Permission denied"):
        start.set_up(("run",), "terminal")


def test_remains_that_another_set_up_fills_again_say_so(
    start: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path) -> None:
        raise OSError(errno.ENOTEMPTY, "Directory not empty", str(path / "lib" / "site-packages"))

    start.VENV.mkdir()
    start.UNFINISHED.touch()
    monkeypatch.setattr(start.shutil, "rmtree", refuse)
    with pytest.raises(start.SetupError, match=r"Another set-up still writes to .*\.venv\. Wait"):
        start.set_up(("run",), "terminal")


INSTALLS = """
import importlib.util, sys
spec = importlib.util.spec_from_file_location("start", sys.argv[1])
start = importlib.util.module_from_spec(spec)
spec.loader.exec_module(start)
pip = "import sys; print('writes', flush=True); sys.stdin = open(sys.argv[1]); sys.stdin.read()"
with start.only_one_set_up():
    start.run_logged([sys.executable, "-c", pip, sys.argv[2]], lambda line: print(line, flush=True))
"""


@POSIX
def test_a_set_up_waits_for_the_pip_of_one_that_was_killed(
    start: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fifo = tmp_path / "until"
    os.mkfifo(fifo)
    killed = subprocess.Popen(
        [sys.executable, "-c", INSTALLS, str(start.ROOT / "start.py"), str(fifo)],
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    entered = threading.Event()

    def again() -> None:
        with start.only_one_set_up():
            entered.set()

    with killed:
        assert killed.stdout is not None
        assert killed.stdout.readline() == "writes\n"
        killed.kill()
        killed.wait()
        waiting = threading.Thread(target=again)
        waiting.start()
        deadline = time.monotonic() + 60.0
        while "Waiting for another set-up" not in capsys.readouterr().err:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        assert not entered.is_set()
        # What stands for pip ends when the pipe is opened and closed.
        fifo.open("w").close()
        waiting.join(60.0)
    assert entered.is_set()


def test_help_needs_no_set_up(start: ModuleType) -> None:
    answer = run_start(start.ROOT, "--help")
    assert answer.returncode == 0
    assert "start.py demo" in answer.stdout
    assert not start.VENV.exists()


# ------------------------------------------------------------------ the test command


def test_users_options_follow_ours(start: ModuleType) -> None:
    options = start.pytest_options(["--peers", "--hardware", "-m", "not slow"])
    assert options[-3:] == ["--peers", "-m", "not slow"]
    assert "--hardware" not in options
    assert "2" in options
    assert "-n" not in start.pytest_options(["-n0"])[:-1]


def test_processes_of_the_tests_keep_their_bytecode(
    start: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    assert "PYTHONDONTWRITEBYTECODE" not in start.test_environment(":7", hardware=False)


def test_each_worker_keeps_to_one_thread(start: ModuleType) -> None:
    environment = start.test_environment(":7", hardware=False)
    assert environment["LP_NUM_THREADS"] == environment["OPENBLAS_NUM_THREADS"] == "1"
    assert environment["DISPLAY"] == ":7"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="GLX is of X servers")
@pytest.mark.parametrize(("hardware", "driver"), [(True, True), (True, False), (False, True)])
def test_on_hardware_a_virtual_display_is_drawn_by_the_card(
    start: ModuleType, monkeypatch: pytest.MonkeyPatch, hardware: bool, driver: bool
) -> None:
    for name in ("__GLX_VENDOR_LIBRARY_NAME", "LIBGL_ALWAYS_SOFTWARE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(start, "loads", lambda library: driver and "GLX_nvidia" in library)
    environment = start.test_environment(":7", hardware=hardware)
    named = environment.get("__GLX_VENDOR_LIBRARY_NAME")
    assert named == ("nvidia" if hardware and driver else None)
    assert ("LIBGL_ALWAYS_SOFTWARE" in environment) == (not hardware)


@POSIX
@pytest.mark.parametrize(("written", "number"), [(b"7\n", 7), (b"", None), (b"1", None)])
def test_display_number_is_read_or_its_absence_noticed(
    start: ModuleType, written: bytes, number: int | None
) -> None:
    read_end, write_end = os.pipe()
    os.write(write_end, written)
    os.close(write_end)
    if number is None:
        with pytest.raises(start.SetupError, match="Xvfb"):
            start.read_number(read_end, 5.0)
    else:
        assert start.read_number(read_end, 5.0) == number
