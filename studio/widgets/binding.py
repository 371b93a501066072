"""Lets widgets follow models: on the window's thread, not too often, and only while they live."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from inspect import isbuiltin, ismethod
from threading import Lock, get_ident
from typing import Any, ParamSpec

import shiboken6
from PySide6.QtCore import QCoreApplication, QEvent, QObject, Qt, QTimer
from PySide6.QtCore import Signal as QtSignal
from PySide6.QtWidgets import QWidget

from studio.engine.core.signal import Signal
from studio.session.live.scheduler import Kind, budget

P = ParamSpec("P")

RATE = 30.0
"""Refreshes a second at most."""

_KEPT = "_glassbox_bindings"


class _Carrier(QObject):
    """Brings calls to the window's thread, in order."""

    carried = QtSignal(object)

    def __init__(self) -> None:
        super().__init__()
        self.home = get_ident()
        self.carried.connect(self._run, Qt.ConnectionType.QueuedConnection)

    def _run(self, work: Callable[[], object]) -> None:
        work()


def _carrier() -> _Carrier:
    """The one carrier of this application; made on the window's thread by the first binding."""
    app = QCoreApplication.instance()
    if app is None:
        raise RuntimeError("a widget follows a model only while there is an application")
    found = getattr(app, "_glassbox_carrier", None)
    if isinstance(found, _Carrier) and shiboken6.isValid(found):
        return found
    made = _Carrier()
    made.setParent(app)
    app._glassbox_carrier = made  # type: ignore[attr-defined]
    return made


class Delivery:
    """Hands each emission on to a widget's method, with its arguments, on the window's thread."""

    def __init__(self, widget: QObject, signal: Signal[Any], slot: Callable[..., object]) -> None:
        self._widget = weakref.ref(widget)
        self._signal = weakref.ref(signal)
        self._stopped = False
        self._slot = _weak(slot)
        self._carrier = _carrier()

    @property
    def is_over(self) -> bool:
        """Whether there is nothing it could hear any more: stopped, or its signal is gone."""
        return self._stopped or self._signal() is None

    def stop(self) -> None:
        """Hear nothing any more, and be kept by the widget no longer; on the window's thread."""
        self._stopped = True
        signal = self._signal()
        if signal is not None:
            signal.disconnect(self.hear)
        widget = self._widget()
        if widget is not None:
            _forget_ended(widget)

    def hear(self, *args: Any, **kwargs: Any) -> None:
        """Called by the model, on any thread."""
        if get_ident() == self._carrier.home:
            self._deliver(args, kwargs)
        elif shiboken6.isValid(self._carrier):
            self._carrier.carried.emit(lambda: self._deliver(args, kwargs))

    def _deliver(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        slot = _alive(self._widget, self._slot)
        if slot is not None:
            slot(*args, **kwargs)


class Refresh:
    """Calls a widget's method after changes, however many there were, at most so often.

    Attributes:
        waiting: something changed that the widget has not shown yet.
    """

    def __init__(
        self,
        widget: QObject,
        slot: Callable[[], object],
        rate: float,
        when_visible: bool,
        live: Kind | None = None,
    ) -> None:
        self.waiting = False
        self._live = live
        self._lock = Lock()
        self._widget = weakref.ref(widget)
        self._slot = _weak(slot)
        self._carrier = _carrier()
        self._when_visible = when_visible
        self._timer = QTimer(widget)
        self._timer.setSingleShot(True)
        self._wanted = max(1, round(1000 / rate))
        self._timer.setInterval(self._wanted)
        self._timer.timeout.connect(self._rested)
        self._watcher = _Shown(widget, self._go_on) if when_visible else None
        if live == "picture":
            budget.pictures_go_on.connect(self._go_on)

    def hear(self, *_args: Any, **_kwargs: Any) -> None:
        """Called by the model, on any thread."""
        with self._lock:
            if self.waiting:
                return
            self.waiting = True
        if get_ident() == self._carrier.home and self._rests():
            return
        if shiboken6.isValid(self._carrier):
            self._carrier.carried.emit(self._due)

    def now(self) -> None:
        """Refresh at once, on the window's thread."""
        self.waiting = True
        self._call()

    def _due(self) -> None:
        if not self._rests():
            self._call()

    def _rests(self) -> bool:
        """Whether the end of a rest will look what waits, so that no call is needed for it."""
        return shiboken6.isValid(self._timer) and self._timer.isActive()

    def _rested(self) -> None:
        if self.waiting:
            self._call()

    def _go_on(self) -> None:
        """The widget came into view, or Quiet is over."""
        if self.waiting and not self._rests():
            self._call()

    def _rest(self) -> bool:
        """Whether to refresh now; sets how long to rest afterwards."""
        if self._live is None:
            return True
        interval = budget.interval_ms(self._live, self._wanted)
        if interval is not None:
            self._timer.setInterval(interval)
        return interval is not None

    def _call(self) -> None:
        slot = _alive(self._widget, self._slot)
        if slot is None:
            return
        if not self._rest():
            return
        widget = self._widget()
        if self._when_visible and isinstance(widget, QWidget) and not widget.isVisible():
            return
        with self._lock:
            self.waiting = False
        self._timer.start()
        slot()


class _Shown(QObject):
    """Tells when a widget comes into view."""

    def __init__(self, widget: QObject, told: Callable[[], None]) -> None:
        super().__init__(widget)
        self._told = told
        widget.installEventFilter(self)

    def eventFilter(self, _watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Show:
            self._told()
        return False


def connect(widget: QObject, signal: Signal[P], slot: Callable[P, object]) -> Delivery:
    """Call a widget's method at each emission, with its arguments; from any thread, in order.

    On the window's thread the call is made at once. Neither the widget nor the method nor the
    signal is kept alive, and nothing is called after the widget is gone. A widget that turns from
    one model to the next stops what it heard of the last (see `Delivery.stop`); where it does not,
    that ends with the model.

    Args:
        widget: whose life counts.
        signal: the model's signal.
        slot: a method of the widget.
    """
    made = Delivery(widget, signal, slot)
    signal.connect(made.hear)
    _forget_ended(widget)
    _keep(widget, made)
    return made


def refresh(
    widget: QObject,
    slot: Callable[[], object],
    *signals: Signal[Any],
    rate: float = RATE,
    when_visible: bool = False,
    live: Kind | None = None,
) -> Refresh:
    """Call a widget's method after any of the signals, at most ``rate`` times a second.

    Emissions that come while one waits count as one, so the method reads the model again. It is
    never called within an emission.

    Args:
        widget: whose life counts.
        slot: a method of the widget without arguments.
        signals: signals of the models it shows; emitted on any thread.
        rate: most calls in a second.
        when_visible: wait until the widget is in view.
        live: it shows a training under way, as a picture or as a fact: it comes less often where
            that would cost the training too much, and Quiet stops pictures.
    """
    made = Refresh(widget, slot, rate, when_visible, live)
    for signal in signals:
        signal.connect(made.hear)
    _keep(widget, made)
    return made


def _keep(widget: QObject, made: object) -> None:
    # Model signals hold listeners weakly: the widget is what keeps its bindings.
    kept = getattr(widget, _KEPT, None)
    if kept is None:
        kept = []
        setattr(widget, _KEPT, kept)
    kept.append(made)


def _forget_ended(widget: QObject) -> None:
    """Let go of bindings to models that are gone: a window sees many documents in its life."""
    kept = getattr(widget, _KEPT, None)
    if kept is not None:
        kept[:] = (each for each in kept if not (isinstance(each, Delivery) and each.is_over))


def _weak(slot: Callable[..., object]) -> Callable[[], Callable[..., object] | None]:
    if ismethod(slot):
        return weakref.WeakMethod(slot)
    if not isbuiltin(slot) or not isinstance(slot.__self__, QObject):
        return weakref.ref(slot)
    # A method of Qt itself, such as `update`, is a new object each time it is asked for.
    owner, name = weakref.ref(slot.__self__), slot.__name__

    def found() -> Callable[..., object] | None:
        alive = owner()
        return None if alive is None else getattr(alive, name)

    return found


def _alive(
    widget: weakref.ref[Any], slot: Callable[[], Callable[..., object] | None]
) -> Callable[..., object] | None:
    """The method, while both it and the widget are there."""
    holder, call = widget(), slot()
    if holder is None or call is None or not shiboken6.isValid(holder):
        return None
    return call
