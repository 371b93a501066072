"""What a search for fast kernels found."""

from __future__ import annotations

from dataclasses import dataclass

from studio.engine.gl.choices.measured_choices import Measured


@dataclass(frozen=True)
class Finding:
    """What was found for one signature.

    Attributes:
        signature: the product or instruction.
        shipped: what the shipped tables choose: variant, and parts of a product.
        best: the fastest choice; the shipped one where nothing was clearly faster.
        tried: candidates that ran, the shipped choice among them.
        refused: candidates that gave other results or could not run.
    """

    signature: str
    shipped: tuple[str, int]
    best: Measured
    tried: int
    refused: tuple[str, ...] = ()

    @property
    def improved(self) -> bool:
        """Whether the best choice is another than the shipped one."""
        return (self.best.variant, self.best.parts) != self.shipped

    @property
    def shipped_us(self) -> float:
        """Microseconds of the instruction with the shipped choice."""
        return self.best.median_us * self.best.gain


@dataclass(frozen=True)
class StepTimes:
    """A whole step by the shipped choices and by the measured ones, run in turn.

    Attributes:
        program: name of the program.
        batch: rows of a step.
        shipped: seconds by the shipped choices.
        tuned: seconds by the measured ones.
    """

    program: str
    batch: int
    shipped: float
    tuned: float

    @property
    def is_slower(self) -> bool:
        """Whether the measured choices are worse for the step."""
        return self.tuned > self.shipped


@dataclass(frozen=True)
class Tuning:
    """All findings of a run.

    Attributes:
        findings: by signature, those that take most of the time first.
        left: kernels not looked at, since time was up.
        seconds: how long it took.
        clock: what measured, ``gpu timestamps`` or ``wall clock``.
        passed_over: instructions that could not be run alone, each with the reason.
        steps: whole steps of the programs for which another choice was found, as they were kept.
        dropped: signatures whose better choice no whole step takes, or is slower by.
    """

    findings: tuple[Finding, ...]
    left: int
    seconds: float
    clock: str
    passed_over: tuple[str, ...] = ()
    steps: tuple[StepTimes, ...] = ()
    dropped: frozenset[str] = frozenset()

    @property
    def rows(self) -> dict[str, Measured]:
        """The choices worth keeping."""
        return {f.signature: f.best for f in self.findings if self.keeps(f)}

    @property
    def stale(self) -> tuple[str, ...]:
        """Signatures for which the shipped choice is best."""
        return tuple(f.signature for f in self.findings if not self.keeps(f))

    def keeps(self, finding: Finding) -> bool:
        """Whether a finding says something worth keeping."""
        return finding.improved and finding.signature not in self.dropped
