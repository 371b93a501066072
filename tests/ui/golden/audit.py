"""Takes pictures anew and holds them against those that are stored."""

from __future__ import annotations

import html
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from studio.session.core.theme import Mode
from tests.ui.golden import comparison
from tests.ui.golden.comparison import Difference
from tests.ui.golden.studio_of_pictures import missing_fonts, surroundings

STORED = Path(__file__).with_name("pictures")
ROOT = Path(__file__).resolve().parents[3]
PATIENCE = 300.0


@dataclass(frozen=True)
class Sitting:
    """The pictures one process takes.

    Attributes:
        mode: the theme.
        per_cent: the scale.
        names: which pictures; all of them where there is none.
    """

    mode: Mode
    per_cent: int
    names: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Its folder."""
        return f"{self.mode}-{self.per_cent}"


SITTINGS = (
    Sitting("dark", 100),
    Sitting("light", 100),
    Sitting("dark", 200, ("build", "canvas", "listing", "tensor_view")),
    Sitting("light", 200, ("canvas", "inspector", "plots", "profiler")),
)


@dataclass(frozen=True)
class Finding:
    """A picture held against the stored one.

    Attributes:
        name: of the picture, with its sitting.
        expected: the stored file.
        found: the file taken now.
        difference: the file that shows where they differ.
        measured: how far they are apart.
    """

    name: str
    expected: Path
    found: Path
    difference: Path
    measured: Difference


def take(sitting: Sitting, folder: Path, changes: dict[str, str] | None = None) -> None:
    """Take the pictures of a sitting into a folder, in a process of its own.

    Args:
        sitting: which.
        folder: gets them.
        changes: variables the process is to have otherwise.

    Raises:
        RuntimeError: fonts are missing, or the process failed.
    """
    reason = missing_fonts()
    if reason:
        raise RuntimeError(reason)
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="golden-") as home:
        variables = surroundings(Path(home), sitting.per_cent) | (changes or {})
        work = Path(home) / "work"
        work.mkdir()
        words = ("-m", "tests.ui.golden.photographer", str(folder), sitting.mode, str(work))
        answer = subprocess.run(
            [sys.executable, *words, *sitting.names], cwd=ROOT, env=variables, check=False,
            capture_output=True, text=True, timeout=PATIENCE,
        )  # fmt: skip
    if answer.returncode:
        raise RuntimeError(f"the pictures of {sitting.name} could not be taken:\n{answer.stderr}")


def look(sitting: Sitting, folder: Path, stored: Path = STORED) -> list[Finding]:
    """Hold the pictures of a sitting in ``folder`` against those stored; writes the differences."""
    kept = {path.stem for path in (stored / sitting.name).glob("*.png")}
    taken = {path.stem for path in (folder / sitting.name).glob("*.png")}
    findings = []
    for name in sorted(kept | taken):
        expected = stored / sitting.name / f"{name}.png"
        found = folder / sitting.name / f"{name}.png"
        difference = folder / "difference" / sitting.name / f"{name}.png"
        measured = _measure(expected, found)
        comparison.write(difference, measured.picture())
        findings.append(Finding(f"{sitting.name}/{name}", expected, found, difference, measured))
    return findings


def _measure(expected: Path, found: Path) -> Difference:
    for path, said in ((expected, "there is no stored picture"), (found, "it was not taken")):
        if not path.is_file():
            return Difference.impossible(said)
    return comparison.compare(comparison.read(expected), comparison.read(found))


def update(findings: Sequence[Finding]) -> list[str]:
    """Store what was found where it differs; the names of what was replaced."""
    replaced = []
    for finding in findings:
        if finding.measured.is_same:
            continue
        if finding.found.is_file():
            comparison.write_small(finding.expected, comparison.read(finding.found))
        else:
            finding.expected.unlink()
        replaced.append(finding.name)
    return replaced


def write_page(findings: Sequence[Finding], folder: Path) -> Path:
    """A page that shows expected, found and difference side by side, those that differ first."""
    path = folder / "index.html"
    ordered = sorted(findings, key=lambda each: (each.measured.is_same, each.name))
    parts = [_SECTION.format(
        name=html.escape(each.name),
        word="same" if each.measured.is_same else "DIFFERS",
        said=html.escape(str(each.measured)),
        pictures="".join(
            _PICTURE.format(file=html.escape(file.as_uri()), word=word)
            for word, file in (
                ("expected", each.expected), ("found", each.found), ("difference", each.difference)
            )
        ),
    ) for each in ordered]  # fmt: skip
    differing = sum(not each.measured.is_same for each in findings)
    heading = f"{differing} of {len(findings)} pictures differ"
    path.write_text(_PAGE.format(heading=heading, body="".join(parts)), encoding="utf-8")
    return path


_PAGE = """\
<!doctype html><meta charset="utf-8"><title>Golden pictures</title>
<style>
body {{ font: 14px sans-serif; background: #777; color: #fff; margin: 16px }}
section > div {{ display: flex; gap: 8px }}
figure {{ flex: 1; margin: 0 0 24px }}
img {{ max-width: 100%; background: #000 }}
</style>
<h1>{heading}</h1>
{body}
"""
_SECTION = "<section><h2>{name}: {word}</h2><p>{said}</p><div>{pictures}</div></section>\n"
_PICTURE = '<figure><figcaption>{word}</figcaption><a href="{file}"><img src="{file}"></a></figure>'
