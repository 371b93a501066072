"""Set Glassbox up and start it: standard library only, so that a bare Python is enough.

``python3 start.py`` opens the studio, ``demo`` trains the digits project, ``test`` runs the test
suite, ``check`` the part of it that a change can touch, and any other first word is a command of
``glassbox`` (``python3 start.py train PROJECT``).
"""

import sys

if sys.version_info < (3, 11):  # noqa: UP036
    sys.exit(
        f"Glassbox needs Python 3.11 or newer, and this is Python {sys.version_info[0]}."
        f"{sys.version_info[1]}. Start it with a newer one, for example: python3.12 start.py"
    )

import contextlib
import ctypes
import errno
import hashlib
import importlib.util
import json
import os
import select
import shlex
import shutil
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
# Written last, so that it vouches for a whole set-up; and what stands there until then.
STAMP = VENV / "glassbox-setup.json"
UNFINISHED = VENV / "glassbox-unfinished"
NOTES = ROOT / ".setup"
WINDOWS = sys.platform == "win32"
LINUX = sys.platform.startswith("linux")
FONTS = Path("/usr/share/fonts")
PROGRAMS = ROOT / "tools" / "peer_programs.py"

# Shared libraries of Linux that PySide6 and moderngl load but do not bring, and the packages of
# Debian and Ubuntu that hold them. Where names differ between releases, the newer stands first.
LIBRARIES = {
    "libGL.so.1": ("libgl1",),
    "libEGL.so.1": ("libegl1",),
    "libglib-2.0.so.0": ("libglib2.0-0t64", "libglib2.0-0"),
    "libfontconfig.so.1": ("libfontconfig1",),
    "libxkbcommon.so.0": ("libxkbcommon0",),
    "libdbus-1.so.3": ("libdbus-1-3",),
    "libxcb-cursor.so.0": ("libxcb-cursor0",),
    "libxcb-icccm.so.4": ("libxcb-icccm4",),
    "libxcb-keysyms.so.1": ("libxcb-keysyms1",),
    "libxcb-shape.so.0": ("libxcb-shape0",),
    "libxcb-xkb.so.1": ("libxcb-xkb1",),
    "libxkbcommon-x11.so.0": ("libxkbcommon-x11-0",),
}
# What tests need besides: Mesa, which draws without a card, a display without a screen, a font.
TEST_LIBRARIES = {"libEGL_mesa.so.0": ("libegl-mesa0",), "libGLX_mesa.so.0": ("libglx-mesa0",)}
TEST_TOOLS = {"Xvfb": ("xvfb",), "DejaVuSans.ttf": ("fonts-dejavu-core",)}
# How much of the system is known to be there, each level holding those before it.
LEVELS = ("terminal", "studio", "tests")

NO_NETWORK = (
    "Failed to establish a new connection", "Temporary failure in name resolution",
    "Temporary failure resolving", "Could not resolve", "Name or service not known",
    "getaddrinfo failed", "Network is unreachable", "Max retries exceeded", "ConnectTimeout",
    "Could not connect", "Cannot connect to proxy",
)  # fmt: skip

# What stands behind the environment's Python to check the code without running it.
CODE_CHECKS = {
    "ruff check": ["-m", "ruff", "check", "."],
    "ruff format": ["-m", "ruff", "format", "--check", "."],
    "mypy": ["-m", "mypy"],
    "mypy start.py": ["-m", "mypy", "--strict", "start.py"],
    "import contracts": [
        "-c", "from importlinter.cli import lint_imports_command as c; c()", "--no-logo",
    ],
}  # fmt: skip

USAGE = """\
python3 start.py                     open the studio
python3 start.py demo [options]      train the digits project and write out what it made
python3 start.py test [--peers] [--full] [pytest options]
                                     check the code and run the test suite; --peers compares with
                                     PyTorch, Keras, TensorFlow.js …, --full runs long tests in full
python3 start.py check [COMMIT]      check the code and run the quick tests that the change since
                                     COMMIT can touch (default: since this branch left main)
python3 start.py COMMAND [options]   any command of glassbox: train, evaluate, compile, doctor ...

The first start sets up a .venv folder beside this file and needs the internet once.
"""


class SetupError(Exception):
    """Something only the user can put right; the text says what and how."""


def main(arguments: Sequence[str]) -> int:
    """Set up what the first word needs, then do it; returns the exit code."""
    if arguments and arguments[0] in ("-h", "--help"):
        sys.stdout.write(USAGE)
        return 0
    try:
        if arguments and arguments[0] == "test":
            return run_tests(list(arguments[1:]))
        if arguments and arguments[0] == "check":
            return check_change(arguments[1:])
        groups = ("run", "scale") if "sweep" in arguments[:1] else ("run",)
        set_up(groups, "terminal" if arguments else "studio")
        return hand_over(arguments)
    except SetupError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    except KeyboardInterrupt:
        sys.stderr.write("\nStopped. The next start takes up the work where it has to.\n")
        return 130


def say(text: str) -> None:
    """One line about the progress; to stderr, since commands with --json own stdout."""
    print(text, file=sys.stderr, flush=True)


def hand_over(arguments: Sequence[str]) -> int:
    """Become ``glassbox`` inside the environment; only Windows comes back from here."""
    # -P keeps a folder called studio in the user's current folder from being taken for ours.
    command = [str(venv_python()), "-P", "-m", "studio", *arguments]
    sys.stderr.flush()
    if not WINDOWS:
        os.execv(command[0], command)
    return subprocess.call(command)


def venv_python(venv: Path = VENV) -> Path:
    """Where the environment keeps its interpreter on this system."""
    return venv / "Scripts" / "python.exe" if WINDOWS else venv / "bin" / "python"


def lock_file(group: str) -> Path:
    """The pinned packages of a group: run, scale, test or peers."""
    return ROOT / "requirements" / f"{group}.lock"


def fingerprint(group: str) -> str:
    """Changes when the group has to be installed again; peers are more than Python packages."""
    files = [lock_file(group), *([PROGRAMS] if group == "peers" else [])]
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


def read_stamp() -> dict[str, str]:
    """What has been set up, by group; empty when nothing whole is there."""
    try:
        stamp = json.loads(STAMP.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    ours = isinstance(stamp, dict) and stamp.get("python") == python_tag()
    return stamp if ours and venv_python().exists() else {}


def write_stamp(stamp: dict[str, str]) -> None:
    """Replace the stamp in one step, so that it is never half there."""
    draft = STAMP.with_suffix(".part")
    draft.write_text(json.dumps(stamp | {"python": python_tag()}, indent=1), encoding="utf-8")
    draft.replace(STAMP)


def python_tag() -> str:
    """The Python an environment belongs to: 3.11, 3.12 ..."""
    return f"{sys.version_info[0]}.{sys.version_info[1]}"


def set_up(groups: Sequence[str], level: str) -> None:
    """Make the environment hold the groups; costs a file read when it already does.

    Raises:
        SetupError: what is missing cannot be set up from here; says what to type.
    """
    if not is_set_up(groups, level, read_stamp()):
        with only_one_set_up():
            stamp = read_stamp()
            if not is_set_up(groups, level, stamp):
                try:
                    bring_up_to_date(groups, level, stamp)
                except OSError as error:
                    raise SetupError(cannot_write(error)) from None


def is_set_up(groups: Sequence[str], level: str, stamp: dict[str, str]) -> bool:
    """True when the stamp covers these groups and this much of the system."""
    return stamp.get("system") in LEVELS[LEVELS.index(level) :] and all(
        stamp.get(group) == fingerprint(group) for group in groups
    )


def bring_up_to_date(groups: Sequence[str], level: str, stamp: dict[str, str]) -> None:
    """Install what the stamp does not vouch for: system libraries, environment, packages."""
    began = time.monotonic()
    stale = [group for group in groups if stamp.get(group) != fingerprint(group)]
    if stale:
        say("Setting Glassbox up. This happens once and takes a minute or two.")
    goal = max(level, "studio", key=LEVELS.index)
    advice = set_up_system(goal, needs_venv=not stamp)
    if advice and level == "tests":
        raise SetupError(advice)
    if stale:
        if not stamp:
            create_environment(advice)
        UNFINISHED.touch()
        STAMP.unlink(missing_ok=True)
        for group in stale:
            install(group)
        link_project()
    if advice:
        say(f"{advice}\nUntil then Glassbox works in the terminal, on the CPU.")
    fresh = {group: fingerprint(group) for group in stale}
    write_stamp(stamp | fresh | {"system": "terminal" if advice else goal})
    UNFINISHED.unlink(missing_ok=True)
    if stale:
        say(f"Set up in {time.monotonic() - began:.0f} s.")


@contextlib.contextmanager
def only_one_set_up() -> Iterator[None]:
    """Hold a lock, so that two starts at once do not get into each other's way."""
    try:
        NOTES.mkdir(exist_ok=True)
        handle = open(NOTES / "lock", "a+b")  # noqa: SIM115
    except OSError as error:
        raise SetupError(cannot_write(error)) from None
    with handle:
        # pip holds it too: where this process is killed, pip goes on writing.
        os.set_inheritable(handle.fileno(), True)
        if not try_lock(handle.fileno()):
            say("Waiting for another set-up of this folder ...")
            while not try_lock(handle.fileno()):
                time.sleep(0.2)
        yield


def try_lock(descriptor: int) -> bool:
    """Lock the open file for this process; False while another one holds it."""
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def cannot_write(error: OSError) -> str:
    """One clear sentence for a folder that is read-only, full, somebody else's or in use."""
    if error.errno == errno.ENOTEMPTY:
        return f"Another set-up still writes to {VENV}. Wait until it is over and start again."
    return (
        f"Glassbox keeps its packages in its own folder, and {error.filename or ROOT} cannot be "
        f"written to ({error.strerror}). Copy {ROOT} to a place of yours and start it there."
    )


def create_environment(advice: str) -> None:
    """A fresh .venv; a half-made one of ours goes, somebody else's healthy one is kept."""
    ours = UNFINISHED.exists() or STAMP.exists()
    if VENV.exists() and not ours and environment_works():
        say("Using the .venv that is there.")
        return
    if VENV.exists():
        say("Removing a .venv that was left unfinished or belongs to another Python.")
        shutil.rmtree(VENV)
    if not has_module("ensurepip") and not has_module("pip"):
        raise SetupError(no_venv_text(advice))
    say(f"Creating {VENV} ...")
    VENV.mkdir()
    UNFINISHED.touch()
    # Called from inside a .venv, the interpreter it was made from is the one to build on.
    python = getattr(sys, "_base_executable", None) or sys.executable
    without = [] if has_module("ensurepip") else ["--without-pip"]
    command = [python, "-m", "venv", *without, str(VENV)]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    if answer.returncode:
        raise SetupError(no_venv_text(advice, last_line(answer.stdout + answer.stderr)))


def environment_works() -> bool:
    """True when the .venv has this Python and a pip."""
    if not venv_python().exists():
        return False
    code = "import sys, pip; sys.stdout.write('%d.%d' % sys.version_info[:2])"
    command = [str(venv_python()), "-c", code]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    return answer.returncode == 0 and answer.stdout == python_tag()


def has_module(name: str) -> bool:
    """True when the interpreter that runs this file can import the module, asked afresh."""
    importlib.invalidate_caches()
    return importlib.util.find_spec(name) is not None


def pip_from_outside() -> list[str] | None:
    """The pip of the interpreter itself, which can fill an environment that has none."""
    if not has_module("pip"):
        return None
    return [sys.executable, "-m", "pip", "--python", str(venv_python())]


def no_venv_text(advice: str, reason: str = "") -> str:
    """Why there is no environment and what to type."""
    why = f" ({reason})" if reason else ""
    text = f"This Python cannot make virtual environments: venv or pip is missing{why}."
    if advice:
        return f"{text}\n{advice}"
    return f"{text} Install Python 3.11 or newer with both, from python.org for example."


def install(group: str) -> None:
    """Install a group of pinned packages with pip; wheels only, nothing is built here."""
    count = sum(1 for line in lock_file(group).read_text(encoding="utf-8").splitlines() if line)
    say(f"Installing {count} packages ({lock_file(group).name}) ...")
    inside = (VENV / "pyvenv.cfg").exists() and any(VENV.glob("[Ll]ib/**/site-packages/pip"))
    pip = [str(venv_python()), "-m", "pip"] if inside else pip_from_outside()
    if pip is None:
        raise SetupError(no_venv_text(""))
    words = "install --no-input --disable-pip-version-check --progress-bar off --only-binary :all:"
    command = [*pip, *words.split(), "-r", str(lock_file(group))]
    code, output = run_logged(command, pip_progress)
    if code:
        raise SetupError(explain_pip(output))
    if group == "peers":
        command = [str(venv_python()), str(PROGRAMS)]
        code, output = run_logged(command, lambda line: say(f"  {line.rstrip()}"))
        if code:
            raise SetupError(f"{last_line(output)}. All of it is in {NOTES / 'setup.log'}.")


def pip_progress(line: str) -> None:
    """Say what pip downloads, without its many other lines."""
    line = line.strip()
    if line.startswith("Downloading ") and ".whl" in line and not line.endswith(".metadata"):
        name, _, rest = line.removeprefix("Downloading ").rpartition("/")[2].partition("-")
        size = rest.partition("(")[2].rstrip(")")
        say(f"  {name} ({size})" if size else f"  {name}")


def explain_pip(output: str) -> str:
    """One clear sentence for a failed pip, and where its own words are."""
    log = f"What pip said is in {NOTES / 'setup.log'}."
    if "CERTIFICATE_VERIFY_FAILED" in output:
        return (
            "The package index shows a certificate that this system does not trust; behind a "
            f"company's proxy, set PIP_CERT to the company's certificate file. {log}"
        )
    if is_offline(output):
        return f"The packages could not be downloaded: no way to the package index. {log}"
    if "No space left on device" in output:
        return f"The disk is full: Glassbox needs about 1 GB in {ROOT}. {log}"
    if "No matching distribution found for" in output:
        name = output.partition("No matching distribution found for")[2].split()[0]
        return (
            f"There is no ready-made {name} for Python {python_tag()} on this system; "
            f"Python 3.11 to 3.14 on Linux, Windows and macOS have one. {log}"
        )
    return f"pip could not install the packages: {last_line(output)} {log}"


def run_logged(command: Sequence[str], on_line: Callable[[str], object] = len) -> tuple[int, str]:
    """Run a command, add its output to the log, give each line away; returns (code, output)."""
    lines: list[str] = []
    log = open(NOTES / "setup.log", "a", encoding="utf-8")  # noqa: SIM115
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, errors="replace", close_fds=False,
    )  # fmt: skip
    with log, process:
        log.write(f"$ {shlex.join(command)}\n")
        for line in process.stdout or ():
            lines.append(line)
            log.write(line)
            on_line(line)
    return process.returncode, "".join(lines)


def last_line(text: str) -> str:
    """The last line that says something; errors of apt and pip before others."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith(("E: ", "ERROR: "))]
    return (errors or lines or ["no output"])[-1]


def link_project() -> None:
    """Make ``import studio`` and the command ``glassbox`` work inside the environment."""
    packages = next(VENV.glob("[Ll]ib/**/site-packages"))
    # Relative, so that the folder may be moved: .pth lines count from site-packages.
    (packages / "glassbox.pth").write_text(os.path.relpath(ROOT, packages) + "\n", encoding="utf-8")
    if WINDOWS:
        script = VENV / "Scripts" / "glassbox.cmd"
        script.write_text('@"%~dp0python.exe" -P -m studio %*\n', encoding="utf-8")
    else:
        script = VENV / "bin" / "glassbox"
        script.write_text('#!/bin/sh\nexec "${0%/*}/python" -P -m studio "$@"\n', encoding="utf-8")
        script.chmod(0o755)


def set_up_system(level: str, *, needs_venv: bool) -> str:
    """Install the system's part where that is allowed; returns what to type where it is not."""
    wanted = missing_from_system(level)
    if needs_venv and not has_module("ensurepip") and not has_module("pip"):
        held = (f"python{python_tag()}-venv", "python3-venv")
        wanted[f"the venv module of Python {python_tag()}"] = held
    if not wanted:
        return ""
    if shutil.which("apt-get") is None:
        return f"Missing on this system, please install: {', '.join(wanted)}."
    prefix = root_prefix()
    if prefix is None:
        return f"Some parts of the system are missing. Type this once:\n  {apt_line(wanted)}"
    say(f"Installing {len(wanted)} packages of the system with apt-get ...")
    apt = [*prefix, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get"]
    apt += ["-q", "-o", "DPkg::Lock::Timeout=120"]
    code, output = run_logged([*apt, "update"])
    if not code:
        packages = choose_packages(wanted.values())
        code, output = run_logged([*apt, "install", "-y", "--no-install-recommends", *packages])
    if code:
        why = "no way to the package server" if is_offline(output) else last_line(output)
        return f"apt-get failed ({why}). When that is put right, type:\n  {apt_line(wanted)}"
    still = missing_from_system(level)
    return f"Still missing after apt-get: {', '.join(still)}." if still else ""


def missing_from_system(level: str) -> dict[str, tuple[str, ...]]:
    """What this level needs and the system lacks, each with the packages that may hold it."""
    if not LINUX or level == "terminal":
        return {}
    wanted = LIBRARIES | TEST_LIBRARIES | TEST_TOOLS if level == "tests" else LIBRARIES
    return {name: held for name, held in wanted.items() if not is_there(name)}


def is_there(name: str) -> bool:
    """True when a library, a font or a program is installed."""
    found = loads if ".so." in name else shutil.which
    return any(FONTS.rglob(name)) if name.endswith(".ttf") else bool(found(name))


def loads(library: str) -> bool:
    """True when the dynamic linker finds the library and all that it needs in turn."""
    with contextlib.suppress(OSError):
        ctypes.CDLL(library)
        return True
    return False


def root_prefix() -> list[str] | None:
    """What to put before a command that needs root; None when that takes a password."""
    if os.geteuid() == 0:
        return []
    if shutil.which("sudo") is None:
        return None
    asked = subprocess.run(["sudo", "-n", "true"], capture_output=True, check=False)
    return ["sudo", "-n"] if asked.returncode == 0 else None


def choose_packages(wanted: Iterable[tuple[str, ...]]) -> list[str]:
    """Of each tuple of names the first one this release has, else the last and plainest."""
    choices = [*wanted]
    command = ["apt-cache", "policy", *(name for held in choices for name in held)]
    plain = os.environ | {"LC_ALL": "C"}
    answer = subprocess.run(command, capture_output=True, text=True, check=False, env=plain)
    known, name = set(), ""
    for line in answer.stdout.splitlines():
        if line.endswith(":") and not line.startswith(" "):
            name = line[:-1]
        elif line.strip().startswith("Candidate:") and "(none)" not in line:
            known.add(name)
    return [next((name for name in held if name in known), held[-1]) for held in choices]


def apt_line(wanted: dict[str, tuple[str, ...]]) -> str:
    """The exact command that installs the packages, for a user who may become root."""
    packages = " ".join(choose_packages(wanted.values()))
    become = "sudo " if shutil.which("sudo") and os.geteuid() else ""
    install = "apt-get install -y --no-install-recommends"
    line = f"{become}apt-get update && {become}{install} {packages}"
    return line if become or os.geteuid() == 0 else f"su -c '{line}'"


def is_offline(output: str) -> bool:
    """True when a failed download says that there is no network."""
    return any(sign in output for sign in NO_NETWORK)


def run_tests(arguments: list[str]) -> int:
    """Check the code, run the tests, print one summary; returns 0 when all of it is well."""
    groups = ("run", "test", "peers") if "--peers" in arguments else ("run", "test")
    set_up(groups, "tests")
    with virtual_display() as display:
        environment = test_environment(display, hardware="--hardware" in arguments)
        command = [str(venv_python()), "-m", "tools.whole_suite", *pytest_options(arguments)]
        return subprocess.call(command, cwd=ROOT, env=environment)


def check_change(arguments: Sequence[str]) -> int:
    """Check the code and the quick tests that a change can touch, by ``tools.check``."""
    set_up(("run", "test"), "tests")
    command = [str(venv_python()), "-m", "tools.check", *arguments]
    return subprocess.call(command, cwd=ROOT, env=test_environment("", hardware=False))


def summarise(rows: Sequence[tuple[str, int, float]], seconds: float) -> int:
    """One line for each step: name, exit code, seconds; returns 1 where one failed, else 0."""
    say("\n== summary")
    for name, code, taken in rows:
        say(f"{'ok' if code == 0 else 'FAILED':7} {name:18} {taken:7.1f} s")
    failed = ", ".join(name for name, code, _ in rows if code)
    say(f"{'FAILED: ' + failed if failed else 'All is well'} ({seconds:.0f} s)")
    return int(bool(failed))


def pytest_options(arguments: list[str]) -> list[str]:
    """The user's options for pytest after ours, so that the user's win."""
    ours = ["--hypothesis-profile=ci", *(["--require-gl"] if LINUX else [])]
    if not any(word.startswith(("-n", "--numprocesses", "--pdb")) for word in arguments):
        ours += ["-n", "2", "--dist", "worksteal"]
    return ours + [word for word in arguments if word != "--hardware"]


def test_environment(display: str, *, hardware: bool) -> dict[str, str]:
    """The variables tests run under: one thread for each of the two workers, drawn by Mesa."""
    threads = ("LP_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    chosen = os.environ | dict.fromkeys(threads, "1")
    # Else each of some hundred processes would compile every module that it imports.
    chosen.pop("PYTHONDONTWRITEBYTECODE", None)
    chosen |= {"KERAS_BACKEND": "jax", "JAX_PLATFORMS": "cpu", "PYTHONUNBUFFERED": "1"}
    if display:
        chosen.pop("WAYLAND_DISPLAY", None)
        chosen["DISPLAY"] = display
    mesa = "/usr/share/glvnd/egl_vendor.d/50_mesa.json"
    if LINUX and not hardware:
        chosen["LIBGL_ALWAYS_SOFTWARE"] = "1"
        chosen |= {"__EGL_VENDOR_LIBRARY_FILENAMES": mesa} if Path(mesa).exists() else {}
    elif LINUX and loads("libGLX_nvidia.so.0"):  # A virtual display would name Mesa.
        chosen.setdefault("__GLX_VENDOR_LIBRARY_NAME", "nvidia")
    return chosen


@contextlib.contextmanager
def virtual_display() -> Iterator[str]:
    """An X server without a screen for as long as the block runs; gives its name, as ``:1``.

    Raises:
        SetupError: the server did not come up within 30 seconds.
    """
    if not LINUX:
        yield ""
        return
    read_end, write_end = os.pipe()
    command = ["Xvfb", "-displayfd", str(write_end), "-screen", "0", "1600x1000x24"]
    server = subprocess.Popen(
        [*command, "-nolisten", "tcp", "-noreset"], pass_fds=(write_end,),
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    # Ours is closed now, so that the server's death shows as the end of the pipe.
    os.close(write_end)
    try:
        yield f":{read_number(read_end, 30.0)}"
    finally:
        server.terminate()
        server.wait()


def read_number(pipe: int, patience: float) -> int:
    """The line that the X server writes once it is up: its display number."""
    text, deadline = b"", time.monotonic() + patience
    with os.fdopen(pipe, "rb", buffering=0) as stream:
        while not text.endswith(b"\n"):
            ready, _, _ = select.select([stream], [], [], max(0.0, deadline - time.monotonic()))
            piece = stream.read(16) if ready else b""
            if not piece:
                raise SetupError("The virtual display (Xvfb) did not start; try: Xvfb -displayfd 1")
            text += piece
    return int(text)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
