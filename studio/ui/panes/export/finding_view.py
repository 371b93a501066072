"""What came of an export: where the file is, and whether it was found to be the same model."""

from __future__ import annotations

from typing import NamedTuple

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QImage, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QHBoxLayout, QLabel, QProgressBar, QVBoxLayout, QWidget

from studio.engine.core.errors import StudioError
from studio.engine.train.export.check.check import ExportCheck
from studio.session.export.exporting import ExportResult
from studio.session.notices.notices import Severity
from studio.widgets import icons, numbers, theme

_PICTURE = 64


class FindingView(QWidget):
    """A box that says how an export goes and what was found."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("finding")
        self._role = "text3"
        self._sign = QLabel(self)
        self._sign.setFixedSize(20, 20)
        self.sentence = QLabel(self)
        self.sentence.setObjectName("finding_sentence")
        self.sentence.setWordWrap(True)
        self.sentence.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        strong = theme.font("ui")
        strong.setBold(True)
        self.sentence.setFont(strong)
        self.details = QLabel(self)
        self.details.setObjectName("finding_details")
        self.details.setWordWrap(True)
        self.details.setProperty("role", "soft")
        self.details.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.bar = QProgressBar(self)
        self.bar.setRange(0, 100)
        self.bar.setTextVisible(False)
        self.sample = SamplePicture(self)
        texts = QVBoxLayout()
        texts.setSpacing(4)
        for widget in (self.sentence, self.details, self.bar):
            texts.addWidget(widget)
        row = QHBoxLayout(self)
        row.setContentsMargins(12, 12, 12, 12)
        row.setSpacing(12)
        row.addWidget(self._sign, 0, Qt.AlignmentFlag.AlignTop)
        row.addLayout(texts, 1)
        row.addWidget(self.sample, 0, Qt.AlignmentFlag.AlignTop)
        self.hide()

    def show_progress(self, share: float | None, text: str) -> None:
        """Say how far the export is."""
        self._show("busy", "accent", "Exporting", text[:1].upper() + text[1:])
        self.bar.setValue(round(100 * (share or 0.0)))
        self.bar.show()
        self.sample.show_image(None)

    def show_error(self, error: StudioError) -> None:
        """Say why nothing was written."""
        hint = f"\n{error.hint[:1].upper()}{error.hint[1:]}." if error.hint else ""
        where = f"{error.who}: " if error.who else ""
        self._show("error", "error", "Not exported", f"{where}{error.message}.{hint}")
        self.sample.show_image(None)

    def show_result(self, result: ExportResult, sample: QImage | None) -> None:
        """Say what was written and found; ``sample`` is the first that is answered differently."""
        said = finding_of(result)
        self._show(said.severity, said.severity, said.sentence, said.details)
        self.sample.show_image(sample)

    def _show(self, icon: str, role: str, sentence: str, details: str) -> None:
        self._role = role
        self._sign.setPixmap(icons.icon(icon, role).pixmap(QSize(20, 20)))
        self.sentence.setText(sentence)
        self.details.setText(details)
        self.bar.hide()
        self.setAccessibleName(sentence)
        self.setAccessibleDescription(details)
        self.show()
        self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(theme.mixed(self._role, "dock", 0.5), 1))
        painter.setBrush(theme.mixed(self._role, "dock", 0.08))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), 6, 6)
        painter.end()


class Finding(NamedTuple):
    """What is said of an export that is over."""

    severity: Severity
    sentence: str
    details: str


def finding_of(result: ExportResult) -> Finding:
    """What was written and found, in words."""
    written, made, found = _written(result), result.made, result.check
    if made is None:
        return Finding("ok", "Written", written)
    if found is None:
        why = "" if made.doubt is None else _capital(made.doubt.message)
        return Finding("warning", "Written, not verified", f"{written}\n{why}")
    if found.is_same:
        return Finding("ok", _capital(found.sentence), f"{written}\n{_same(found)}")
    if not found.is_checked:
        return Finding("warning", _capital(found.sentence), written)
    return Finding("error", _capital(found.sentence), f"{written}\n{_other(found)}")


def _written(result: ExportResult) -> str:
    """Where the file is, what is said beside it, and whose weights it has."""
    if not result.is_placed:
        return f"{result.path} was not written; what was there is kept"
    lines = [f"{result.path} ({numbers.memory(result.nbytes)})"]
    made = result.made
    if made is not None and made.report is not None:
        lines[0] += f", report in {made.report.name}"
    elif made is not None and made.unreported is not None:
        lines.append(f"No report was written: {made.unreported.message}")
    if result.weights:
        lines.append(result.weights)
    if made is not None and made.small is not None:
        lines += [f"{_capital(line)}." for line in made.small.lines]
    return "\n".join(lines)


class SamplePicture(QWidget):
    """One sample, its cells sharp."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFixedSize(_PICTURE, _PICTURE)
        self.setAccessibleName("The first sample that differs")
        self._image: QImage | None = None
        self.hide()

    def show_image(self, image: QImage | None) -> None:
        """Show a picture, or nothing."""
        self._image = image
        self.setVisible(image is not None)
        self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:
        if self._image is None:
            return
        painter = QPainter(self)
        scale = min(self.width() / self._image.width(), self.height() / self._image.height())
        width, height = self._image.width() * scale, self._image.height() * scale
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform, scale < 1.0)
        painter.drawImage(QRectF(0, 0, width, height), self._image)
        painter.end()


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _same(found: ExportCheck) -> str:
    top = "" if found.same_top is None else f"the same class on all {found.same_top}; "
    return (
        f"Read by {found.read_by} in another process in {numbers.duration(found.seconds)}: {top}"
        f"relative difference at most {numbers.number(found.max_relative, 2)}; exporting once more "
        f"gives the same bytes.{_by_output(found)}{_notes(found)}"
    )


def _notes(found: ExportCheck) -> str:
    """Which other program could not read the file, in lines of their own."""
    return "".join(f"\n{note}." for note in found.notes)


def _by_output(found: ExportCheck) -> str:
    """The largest difference of each output, in a line of its own; empty for a single output."""
    gaps = (f"{name} {numbers.number(gap, 2)}" for name, gap in found.by_output.items())
    return f"\nLargest difference by output: {', '.join(gaps)}." if found.by_output else ""


def _other(found: ExportCheck) -> str:
    lines = [f"{_capital(reason)}." for reason in found.reasons[1:]]
    if found.first is not None:
        lines.insert(
            0,
            f"Sample {found.first.sample}{_of(found)}{_in(found.first.output)}: expected "
            f"{found.first.expected}, got {found.first.found} from the file.",
        )
    if found.same_top is not None:
        lines.append(f"Same class on {found.same_top} of {found.samples} samples.")
    lines.append(f"Read by {found.read_by} in another process.")
    return "\n".join(lines) + _by_output(found) + _notes(found)


def _in(output: str) -> str:
    return f", output {output}" if output else ""


def _of(found: ExportCheck) -> str:
    return f" of the {found.part} part" if found.part else ", generated"
