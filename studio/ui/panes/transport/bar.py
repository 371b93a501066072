"""The transport bar: train, pause, step, stop; how far it is; and the learning rate."""

from __future__ import annotations

from PySide6.QtCore import QObject, QSize, Qt
from PySide6.QtGui import QGuiApplication, QResizeEvent
from PySide6.QtWidgets import QApplication, QHBoxLayout, QLabel, QPushButton, QToolButton, QWidget

from studio.engine.core.errors import StudioError
from studio.engine.train.loop.control import HIGHEST_RATE
from studio.session.runs.columns import is_share
from studio.session.studio import Studio
from studio.session.training.state import TrainingOutcome
from studio.session.training.training import NO_DATA
from studio.ui.panes.transport.progress import ProgressView
from studio.widgets import binding, icons, numbers, theme
from studio.widgets.fields.scrub_field import ScrubField
from studio.widgets.fields.stepping import Stepping
from studio.widgets.keys import with_keys
from studio.widgets.training_tick import tick_of

_STEPS = ("train.pause", "train.step_batch", "train.step_epoch", "train.stop")
_WORDS = {
    "train.pause": "Pause",
    "train.step_batch": "Batch",
    "train.step_epoch": "Epoch",
    "train.stop": "Stop",
}


class TransportBar(QWidget):
    """What runs a training, in the toolbar.

    Where there is no room, the steps lose their words first, then the learning rate, at last its
    place.
    """

    def __init__(self, studio: Studio, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("transport")
        self.setAccessibleName("Training")
        self._actions = studio.actions
        self._training = studio.training
        self._studio = studio
        self._train = QPushButton(self)
        self._train.setObjectName("transport.train")
        self._train.setProperty("primary", True)
        self._train.setIconSize(QSize(14, 14))
        self._train.clicked.connect(self._start)
        self._train.setMinimumWidth(self._widest())
        self._steps = {action_id: self._step_button(action_id) for action_id in _STEPS}
        self._progress = ProgressView(studio.training, self._open_place, self)
        self._rate_label = QLabel("Learning rate", self)
        self._rate_label.setProperty("role", "faint")
        self._rate_label.setFont(theme.font("small"))
        self._rate = ScrubField(Stepping("decades", 0.0, HIGHEST_RATE), 0.0, self)
        self._rate.fits_typing = False
        self._rate.setObjectName("transport.learning_rate")
        self._rate.setAccessibleName("Learning rate")
        self._rate.setFixedWidth(88)
        self._rate.committed.connect(self._set_rate)
        self._rate_label.setBuddy(self._rate)
        self._looks: tuple[str, str, str] | None = None
        self._has_project = True
        room = self._progress.sizePolicy()
        room.setRetainSizeWhenHidden(True)
        self._progress.setSizePolicy(room)
        row = self._row = QHBoxLayout(self)
        row.setSizeConstraint(QHBoxLayout.SizeConstraint.SetNoConstraint)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(4)
        row.addWidget(self._train)
        for button in self._steps.values():
            row.addWidget(button)
        row.addSpacing(8)
        row.addWidget(self._progress, 1)
        row.addSpacing(8)
        row.addWidget(self._rate_label)
        row.addWidget(self._rate)
        row.addSpacing(4)
        # A report of the training changes what is possible only with its state.
        binding.refresh(
            self, self.show_possible, studio.training.state_changed, studio.actions.changed,
            studio.problems.changed, studio.document_replaced, studio.training.staleness_changed,
            studio.welcome_state.changed, rate=15,
        )  # fmt: skip
        self._tick = tick_of(studio.training)
        binding.connect(self, self._tick.ticked, self._show_rate)
        self._end_notice = _EndNotice(studio, self)
        self.show_possible()

    @property
    def progress(self) -> ProgressView:
        return self._progress

    @property
    def learning_rate(self) -> ScrubField:
        return self._rate

    def show_possible(self) -> None:
        """Show what can be done now, and why the rest cannot."""
        paused = self._training.state in ("paused", "pausing")
        barred = self._actions.why_not("train.start")
        # What is wrong with the project does not bar the button: a click leads to it.
        reason = "" if barred or self._training.is_busy else self._training.why_not_start()
        self._train.setEnabled(not barred)
        spec = self._actions["train.start"]
        tip = with_keys(spec.tip.rstrip("."), spec.keys)
        if barred:
            tip += f"\n{barred[:1].upper()}{barred[1:]}."
        elif reason:
            way_out = "choose data" if reason == NO_DATA else "see the problems"
            tip += f"\n{reason[:1].upper()}{reason[1:]}. Click to {way_out}."
        elif self._training.staleness:
            text = self._training.staleness
            tip += f"\n{text[:1].upper()}{text[1:]}."
        self._train.setToolTip(tip)
        role = "on_accent" if not reason and not barred else "text3"
        self._dress_train("Continue" if paused else "Train", role, reason)
        self._train.setAccessibleDescription(reason or barred)
        for action_id, button in self._steps.items():
            self._show_step(action_id, button)
        self._show_rate()
        self._show_or_hide()

    def _show_or_hide(self) -> None:
        """Say nothing of a training and its rate where there is no project."""
        has_project = not self._studio.welcome_state.why_no_project()
        if has_project != self._has_project:
            self._has_project = has_project
            self._progress.setVisible(has_project)
            self._make_room()

    def _dress_train(self, word: str, role: str, reason: str) -> None:
        """Restyle the button only on a change: it lays out the toolbar again."""
        looks = (word, role, reason)
        if looks == self._looks:
            return
        self._looks = looks
        self._train.setText(word)
        # A graph with problems leaves it looking as if it could not, and a click says why.
        self._train.setProperty("primary", not reason)
        icons.keep(self._train, self._actions["train.start"].icon, role)
        self._train.style().unpolish(self._train)
        self._train.style().polish(self._train)

    def _show_step(self, action_id: str, button: QToolButton) -> None:
        why = self._actions.why_not(action_id)
        spec = self._actions[action_id]
        tip = with_keys(spec.tip.rstrip("."), spec.keys)
        button.setEnabled(not why)
        button.setToolTip(f"{tip}\n{why[:1].upper()}{why[1:]}." if why else tip)
        if action_id == "train.pause":
            button.setCheckable(True)
            button.setChecked(self._actions.is_checked(action_id))

    def _show_rate(self) -> None:
        training = self._training
        busy = training.is_busy and training.state not in ("preparing", "stopping")
        if not busy and self._rate.hasFocus():
            # A disabled field would hand the keyboard to whatever button comes next.
            self._rate.clearFocus()
        self._rate.setEnabled(busy)
        self._rate.set_hint(
            "Rate of the next step; a change is marked in the plots"
            if busy
            else "Change the learning rate during training"
        )
        # Before the first report there is no rate; after it, none is a rate too.
        known = training.status.batches > 0 or training.status.learning_rate > 0
        if busy and known:
            self._rate.set_value(_short(training.status.learning_rate))
        elif not training.is_busy:
            self._rate.set_value(_short(self._planned_rate()))

    def _planned_rate(self) -> float:
        try:
            return float(self._studio.document.project().training.optimizer.rate(0))
        except StudioError:
            return 0.0

    def _widest(self) -> int:
        """Room for either word, so that nothing moves when it changes."""
        wide = 0
        for word in ("Train", "Continue"):
            self._train.setText(word)
            wide = max(wide, self._train.sizeHint().width())
        return wide + self._train.iconSize().width() + 4

    def _step_button(self, action_id: str) -> QToolButton:
        button = QToolButton(self)
        button.setObjectName(f"transport.{action_id}")
        button.setText(_WORDS[action_id])
        button.setAccessibleName(self._actions[action_id].text)
        button.setIconSize(QSize(16, 16))
        button.setMinimumHeight(theme.ROW)
        button.setMinimumWidth(theme.ROW)
        button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonIconOnly)
        icons.keep(button, self._actions[action_id].icon)
        button.clicked.connect(lambda: self._do(action_id))
        return button

    def _do(self, action_id: str) -> None:
        self._actions.trigger(action_id)
        self.show_possible()

    def _start(self) -> None:
        self._do("train.start")

    def _open_place(self) -> None:
        """What the progress is about: the plots, or what went wrong."""
        went_wrong = self._training.state == "failed" or self._training.verdict is not None
        pane = "problems" if went_wrong else "plots"
        action = f"pane.{pane}"
        if action in self._actions and not self._actions.is_checked(action):
            self._actions.trigger(action)

    def _set_rate(self, rate: float) -> None:
        try:
            self._training.set_learning_rate(rate)
        except StudioError as error:
            self._studio.fail(error)
            self._show_rate()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._make_room()

    def _make_room(self) -> None:
        """Give up what there is no room for: words before what the progress says."""
        self._rate.setVisible(self._has_project)
        self._rate_label.setVisible(self._has_project)
        self._show_words(True)
        if self._needed(self._progress.worth) > self.width():
            self._show_words(False)
        if self._needed(self._progress.worth) > self.width():
            self._rate_label.setVisible(False)
        if self._needed(self._progress.minimumSizeHint().width()) > self.width():
            self._rate.setVisible(False)

    def _show_words(self, on: bool) -> None:
        beside, alone = (
            Qt.ToolButtonStyle.ToolButtonTextBesideIcon,
            Qt.ToolButtonStyle.ToolButtonIconOnly,
        )
        for button in self._steps.values():
            button.setToolButtonStyle(beside if on else alone)

    def _needed(self, progress: int) -> int:
        """Width of everything, with so much for the progress."""
        self._row.invalidate()
        return self._row.sizeHint().width() - self._progress.sizeHint().width() + progress

    def minimumSizeHint(self) -> QSize:
        return QSize(360, theme.ROW)


def _short(rate: float) -> float:
    """A rate without the dust of single precision."""
    return float(f"{rate:.4g}")


class _EndNotice(QObject):
    """Notifies a user who is in another program of the end of a training and what it reached."""

    def __init__(self, studio: Studio, parent: QWidget) -> None:
        super().__init__(parent)
        self._evaluation = studio.evaluation
        self._notify = studio.notify
        self._widget = parent
        self._ended: TrainingOutcome | None = None
        binding.connect(self, studio.training.ended, self._hear_end)
        binding.connect(self, studio.evaluation.changed, self._tell)

    def _hear_end(self, outcome: TrainingOutcome) -> None:
        # Who looks at the window sees it, and what went wrong is told anyway.
        away = QGuiApplication.focusWindow() is None
        well = outcome.state == "finished" and outcome.verdict is None
        self._ended = outcome if away and well else None
        if away and outcome.verdict is not None:
            QApplication.alert(self._widget.window())
        self._tell()

    def _tell(self) -> None:
        outcome, status = self._ended, self._evaluation.status
        if outcome is None or status in ("measuring", "waiting"):
            return
        self._ended = None
        results = self._evaluation.results
        numbers_found = dict(outcome.metrics) if results is None else dict(results.metrics)
        subject = self._evaluation.subject
        where = ""
        if results is not None and subject is not None:
            where = f"{subject.part_title(results.part)} "
        reached = [
            f"{where}{name.replace('_', ' ')} {_text(name, value)}"
            for name, value in sorted(numbers_found.items(), key=lambda each: not is_share(each[0]))
            if not name.startswith("learning_rate")
        ]
        self._notify(f"Training finished: {', '.join(reached[:2])}", "ok")
        QApplication.alert(self._widget.window())


def _text(name: str, value: float) -> str:
    return numbers.share(value) if is_share(name) else numbers.number(value)
