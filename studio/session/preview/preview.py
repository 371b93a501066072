"""Pictures of what every layer makes of a few samples, before, while and after a training.

They are kept by what they depend on, not by layer, so that an undo has them back at once. While a
new one is made, the last stays and is marked.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from studio.engine.core.errors import StudioError
from studio.engine.core.signal import Signal
from studio.engine.layers.graph import Port
from studio.engine.runtime.live import ArraySnapshot
from studio.engine.runtime.live_statistics import statistics_of
from studio.engine.train.loop.trainer import Trainer
from studio.engine.train.project.task import Task
from studio.session.compile.compilation import Compilation
from studio.session.core.scheduling import Debounce, Scheduler
from studio.session.core.tasks import TaskHandle, TaskList
from studio.session.document.change import Change
from studio.session.document.document import Document
from studio.session.document.report import Report
from studio.session.document.state import DocumentState
from studio.session.live.scheduler import Repeated
from studio.session.live.sources import Resting, is_replaced, read_between_steps
from studio.session.live.tensors import LiveTensors
from studio.session.preview.network import (
    Part,
    Samples,
    Weights,
    content_hashes,
    run_part,
    samples_of,
    stands_for,
    working_part,
)
from studio.session.tensor_view.colours import EMPTY, ColourRange
from studio.session.tensor_view.layout import SheetLayout
from studio.session.tensor_view.picture import make_picture, short_number
from studio.session.tensor_view.view_state import ViewState

Array: TypeAlias = npt.NDArray[Any]
Pixels: TypeAlias = npt.NDArray[np.uint8]
Key: TypeAlias = tuple[str, int, str]

EDIT_SECONDS = 0.15
"""How long the drawing must have been left alone."""
TRAINING_SECONDS = 2.0
"""Seconds between two looks at the weights of a training, at least."""
SIZE = (232.0, 160.0)
"""Pixels a thumbnail has at most."""
_NO_COLOUR = (0, 0, 0)

MOST = 1024
"""Pictures kept."""


@dataclass(frozen=True, eq=False)
class Origin:
    """Where weights come from.

    Attributes:
        key: previews of origins with equal keys are interchangeable.
        label: whose they are; empty for initial ones.
        partly: whose they are where some parameters have initial ones.
        moves: a running training changes them.
        read: gives them, in the background; None for initial ones.
    """

    key: str
    label: str = ""
    partly: str = "initial weights"
    moves: bool = False
    read: Weights | None = None


INITIAL = Origin("initial")


@dataclass(frozen=True, eq=False)
class Preview:
    """What a layer's body shows.

    Attributes:
        rgba: [rows, columns, 4].
        stale: the layer, or one that feeds it, has been changed since.
        text: the range of its values, and whose weights made them.
    """

    rgba: Pixels
    stale: bool
    text: str


@dataclass(frozen=True, eq=False)
class _Order:
    """One look at a part of the network."""

    part: Part
    samples: Samples
    seed: int
    origin: Origin
    wanted: dict[Port, Key]


class NodePreviews:
    """The previews of one document after another; used on the window's thread.

    Args:
        compilation: opens the data.
        live: knows whose weights are current.
    """

    def __init__(
        self,
        scheduler: Scheduler,
        tasks: TaskList,
        compilation: Compilation,
        live: LiveTensors,
    ) -> None:
        self.changed: Signal[[tuple[str, ...]]] = Signal()
        self._tasks = tasks
        self._compilation = compilation
        self._live = live
        self._document: Document | None = None
        self._wanted: frozenset[Port] = frozenset()
        self._hashes: dict[str, str] = {}
        self._state: DocumentState | None = None
        self._pictures: OrderedDict[Key, tuple[Thumbnail, str]] = OrderedDict()
        self._last: dict[Port, Key] = {}
        self._samples: tuple[Task, Samples | None] | None = None
        self._origin = INITIAL
        self._running: TaskHandle | None = None
        self._again = Repeated(live.scheduler, TRAINING_SECONDS)
        self._again.due.connect(self._look_again)
        self._soon = Debounce(scheduler, EDIT_SECONDS, self._look)
        compilation.changed.connect(self._compiled)
        live.changed.connect(self._weights_changed)

    # -- for views ------------------------------------------------------------------------------

    def want(self, ports: Iterable[Port]) -> None:
        """Make and refresh the pictures of these outputs of layers; those in sight."""
        wanted = frozenset(ports)
        if wanted != self._wanted:
            self._wanted = wanted
            if self._missing():
                self._soon.ask()
            self._follow_training()

    def picture(self, port: Port) -> Preview | None:
        """The preview of an output of a layer, or of what feeds a dot; None before there is one."""
        state = self._state
        own = None if state is None else stands_for(state, port)
        if own is None:
            return None
        key = self._key(own)
        found = None if key is None else self._pictures.get(key)
        if found is not None and key is not None:
            self._last[own] = key
            return Preview(found[0].rgba, False, found[1])
        last = self._last.get(own)
        kept = None if last is None else self._pictures.get(last)
        return None if kept is None else Preview(kept[0].rgba, True, kept[1])

    def follow(self, document: Document | None) -> None:
        """Preview this document from now on."""
        if self._document is not None:
            self._document.changed.disconnect(self._edited)
            self._document.report_changed.disconnect(self._checked)
        self._forget_running()
        self._soon.cancel()
        self._document = document
        self._last.clear()
        self._wanted = frozenset()
        if document is not None:
            document.changed.connect(self._edited)
            document.report_changed.connect(self._checked)
        self._take_state()

    def close(self) -> None:
        """Stop following the document."""
        self.follow(None)
        self._again.set_on(False)

    # -- following ------------------------------------------------------------------------------

    def _edited(self, change: Change) -> None:
        if change.only_places:
            self._state = change.after
            return
        before = self._hashes
        self._take_state()
        self._soon.ask()
        differ = {n for n in self._hashes if self._hashes[n] != before.get(n)}
        differ |= set(change.modified) | set(change.added)
        self.changed.emit(tuple(differ))

    def _checked(self) -> None:
        self._soon.ask()

    def _compiled(self) -> None:
        samples = self._batch()
        before = self._hashes
        self._take_state()
        if samples is not None and self._hashes != before:
            self.changed.emit(tuple(self._hashes))
        if self._missing():
            self._soon.ask()

    def _weights_changed(self) -> None:
        origin = origin_of(self._live)
        if origin.key != self._origin.key:
            self._origin = origin
            self.changed.emit(tuple({port.node for port in self._wanted}))
            self._soon.ask()
        self._follow_training()

    def _follow_training(self) -> None:
        """Look again now and then while weights change."""
        self._again.set_on(self._origin.moves and bool(self._wanted))

    def _look_again(self) -> None:
        self._look(refresh=True)

    def _take_state(self) -> None:
        document, samples = self._document, self._batch()
        self._state = None if document is None else document.state
        if self._state is None or samples is None:
            self._hashes = {}
            return
        try:
            self._hashes = content_hashes(self._state, self._seed(), samples.key)
        except StudioError:
            # Wires close a loop while one is being drawn; what is shown stays.
            return

    def _seed(self) -> int:
        state = self._state
        seed = None if state is None else state.training.get("seed")
        return seed if isinstance(seed, int) else 0

    def _batch(self) -> Samples | None:
        """The samples of the last compile, taken once for each."""
        result = self._compilation.result
        task = None if result is None else result.task
        if task is None:
            return None
        if self._samples is None or self._samples[0] is not task:
            self._samples = (task, samples_of(task))
        return self._samples[1]

    # -- looking --------------------------------------------------------------------------------

    def _key(self, port: Port) -> Key | None:
        found = self._hashes.get(port.node)
        return None if found is None else (found, port.output, self._origin.key)

    def _own(self) -> dict[Port, Key]:
        """The outputs wanted, of layers that do something, with the keys of their pictures."""
        state = self._state
        if state is None:
            return {}
        ports = (stands_for(state, each) for each in self._wanted)
        keys = {port: self._key(port) for port in ports if port is not None}
        return {port: key for port, key in keys.items() if key is not None}

    def _missing(self) -> dict[Port, Key]:
        """Outputs wanted without a picture."""
        return {port: key for port, key in self._own().items() if key not in self._pictures}

    def _look(self, refresh: bool = False) -> None:
        """Make missing previews; or all of them again, because the weights have changed."""
        document, samples, state = self._document, self._batch(), self._state
        if document is None or samples is None or state is None or self._running is not None:
            return
        wanted = self._own() if refresh else self._missing()
        part = _part(state, document.report, samples) if wanted else None
        if part is None:
            return
        wanted = {port: key for port, key in wanted.items() if port in part.ports}
        if wanted:
            self._start(_Order(part, samples, self._seed(), self._origin, wanted))

    def _start(self, order: _Order) -> None:
        images = _image_nodes(order)

        def work(handle: TaskHandle) -> tuple[dict[Port, tuple[Thumbnail, str]], float]:
            began = time.thread_time()
            arrays, all_given = run_part(
                order.part, order.samples, order.seed, order.wanted, order.origin.read
            )
            handle.check()
            label = (all_given and order.origin.label) or order.origin.partly
            made = {}
            for port, array in arrays.items():
                picture = thumbnail(array, image=port.node in images)
                made[port] = (picture, f"{picture.text} · {label}")
            return made, time.thread_time() - began

        def done(answer: tuple[dict[Port, tuple[Thumbnail, str]], float]) -> None:
            self._running = None
            made, seconds = answer
            for port, picture in made.items():
                self._put(order.wanted[port], picture)
            self.changed.emit(tuple({port.node for port in made}))
            self._went_on(seconds)

        def failed(_error: StudioError) -> None:
            # The compile of the document says what is wrong; here the last pictures stay.
            self._running = None

        self._running = self._tasks.start("Preview layers", work, done, failed, quiet=True)

    def _went_on(self, seconds: float) -> None:
        if self._missing():
            self._soon.ask()
        if self._again.is_on:
            self._again.took(seconds)

    def _put(self, key: Key, picture: tuple[Thumbnail, str]) -> None:
        self._pictures[key] = picture
        self._pictures.move_to_end(key)
        while len(self._pictures) > MOST:
            self._pictures.popitem(last=False)

    def _forget_running(self) -> None:
        if self._running is not None:
            self._running.cancel()
            self._running = None


def _part(state: DocumentState, report: Report, samples: Samples) -> Part | None:
    try:
        return working_part(state, report, samples)
    except StudioError:
        return None


def _image_nodes(order: _Order) -> frozenset[str]:
    """Inputs whose samples are pictures in colour: their three channels are colours."""
    samples, entries = order.samples, order.part.graph.inputs
    places = {node.id: samples.place_of(node.id, len(entries)) for node in entries}
    shapes = {
        node_id: samples.sources[place].shape
        for node_id, place in places.items()
        if place is not None
    }
    return frozenset(n for n, shape in shapes.items() if len(shape) == 3 and shape[-1] == 3)


def origin_of(live: LiveTensors) -> Origin:
    """Whose weights are current."""
    trainer, resting = live.trainer, live.resting
    if trainer is not None:
        return Origin(f"training {id(trainer)}", "training", moves=True, read=_of_trainer(trainer))
    if resting is not None and resting.key:
        key = " ".join((resting.key, *sorted(resting.replaced)))
        return Origin(key, resting.label, resting.partly, read=_of_rest(resting))
    return INITIAL


def _of_trainer(trainer: Trainer) -> Weights:
    def read(names: Iterable[str]) -> Mapping[str, Array]:
        session = trainer.network.session
        try:
            return read_between_steps(trainer, [name for name in names if session.has(name)])[1]
        except (StudioError, TimeoutError):
            return {}

    return read


def _of_rest(resting: Resting) -> Weights:
    def read(names: Iterable[str]) -> Mapping[str, Array]:
        found: dict[str, Array] = {}
        for name in names:
            if is_replaced(resting, name):
                continue
            try:
                array = resting.taken(name)
            except StudioError:
                continue
            if array is not None:
                found[name] = array
        return found

    return read


@dataclass(frozen=True, eq=False)
class Thumbnail:
    """A picture and what there is to say of it.

    Attributes:
        rgba: [rows, columns, 4].
        text: range of the values, and what is wrong with them.
    """

    rgba: Pixels
    text: str


def thumbnail(array: Array, *, image: bool) -> Thumbnail:
    """The picture of a batch of outputs: maps of the first sample, or samples below each other.

    Between tiles it is transparent: what is seen there is the ground it is laid on.

    Args:
        array: [N, …].
        image: three channels at the end are red, green and blue.
    """
    contiguous = np.asarray(array, order="C")
    view_state = ViewState(size=SIZE, colour=image)
    layout = view_state.sheet_layout(contiguous.shape)
    if layout.sheet.rows is None:
        # A vector is shown as one row of cells, which says more at this size than bars.
        layout = SheetLayout(layout.sheet, 1, 0.0, 0.0, max(1.0, float(int(layout.cell))))
    with np.errstate(all="ignore"):
        found = statistics_of(contiguous)
        made = ArraySnapshot("preview", contiguous).render((layout.sheet,), statistics=False)
    colours = ColourRange().seen(found)
    picture = make_picture(made.tiles[layout.sheet], layout, colours, _NO_COLOUR, "largest")
    picture.pixels[picture.kinds == EMPTY] = 0
    scale = max(1, int(layout.cell))
    tall = scale if layout.sheet.rows is not None else max(scale, 24)
    rgba = np.repeat(np.repeat(picture.pixels, tall, axis=0), scale, axis=1)
    text = "no finite values"
    if found.finite:
        text = f"{short_number(found.low)} … {short_number(found.high)}"
    if found.bad:
        text += f", {found.bad} NaN or Inf"
    return Thumbnail(np.ascontiguousarray(rgba), text)
