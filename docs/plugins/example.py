"""A plugin for Glassbox: one layer, one pane and one file format.

Copy this file into the folder ``plugins`` of the configuration (``~/.config/glassbox/plugins`` on
Linux), turn it on with ``glassbox plugins --enable example`` or in *Preferences*, *Plugins*, and
start Glassbox again.

Qt is imported in functions only: the processes that train and check exports have none.
"""

import json

import numpy as np

from studio.engine.core.errors import FormatError
from studio.engine.core.options import number
from studio.engine.formats.atomic import write_atomic
from studio.engine.formats.safe_json import load_json
from studio.engine.interop.file_format import FileFormat, ModelFile
from studio.engine.isa.ops.arithmetic import Add, Scale
from studio.engine.isa.ops.function import Sin, Square
from studio.engine.layers.layer import Layer
from studio.engine.layers.named_parameters import stored_weights

__version__ = "1.0"


class Snake(Layer):
    """Snake activation, x + sin²(a·x)/a: for signals that repeat.

    Ziyin et al. 2020, *Neural networks fail to learn periodic functions and how to fix it*.
    """

    category = "activation"
    words = ("snake", "periodic")

    frequency = number(
        "The number a in x + sin²(a·x)/a.", 1.0, low=1e-3, high=1e3,
        effect="Larger values bend the function more often.", on_card=True,
    )  # fmt: skip

    def lower(self, context, x):
        """SCALE, SIN, SQUARE and ADD."""
        angle = context.emit(Scale, "angle", x=x, alpha=self.frequency)
        wave = context.emit(Sin, "wave", x=angle)
        square = context.emit(Square, "square", x=wave)
        return context.emit(Add, x1=x, x2=square, alpha=1.0, beta=1.0 / self.frequency)


class JsonWeights(FileFormat):
    """Weights as JSON."""

    name = "json"
    title = "Weights (JSON)"
    ending = ".weights.json"
    about = "All weights by name in Keras' layout, as text that any program reads."
    holds = "weights"
    is_text = True

    def sniff(self, head):
        return head.startswith(b'{"weights":')

    def write(self, model, path):
        # A float32 turned into a Python number and back is the same float32.
        weights = {name: array.tolist() for name, array in model.public.items()}
        write_atomic(path, json.dumps({"weights": weights}).encode())

    def read(self, path, graph=None):
        found = load_json(path)
        weights = found.get("weights") if isinstance(found, dict) else None
        if not isinstance(weights, dict):
            raise FormatError("expected an object with the member 'weights'", who=str(path))
        try:
            arrays = {name: np.array(each, np.float32) for name, each in weights.items()}
        except (TypeError, ValueError):
            raise FormatError("a weight is no array of numbers", who=str(path)) from None
        return ModelFile(arrays if graph is None else stored_weights(graph, arrays, str(path)))

    def summary(self, content):
        yield "JSON: one object with all weights"


def window_panes():
    """The rows of this plugin's panes; called where there is a window, and nowhere else."""
    from studio.ui.shell.docks.panes import PaneSpec, Place

    return [
        PaneSpec(
            id="example_shares",
            title="Parameter shares",
            icon='<path d="M3 13V8M8 13V3M13 13v-3" stroke="currentColor"/>',
            path=f"{__name__}:make_pane",
            page="# Parameter shares\n\nWhich layers have most of the network's parameters.",
            places={"build": Place("bottom", 1), "train": Place("bottom", 0, shown=False)},
        )
    ]


def make_pane(studio, parent=None):
    """A pane that shows which share of the parameters each layer has."""
    from studio.widgets import binding
    from studio.widgets.forms.facts import Facts
    from studio.widgets.frames.empty_state import EmptyState
    from studio.widgets.frames.frame import PaneFrame

    class SharesPane(PaneFrame):
        def __init__(self):
            super().__init__(parent=parent)
            self.facts = Facts(self)
            self.facts.setContentsMargins(12, 8, 12, 8)
            self.set_body(self.facts)
            self.nothing = EmptyState("info", "No layer has parameters.")
            binding.connect(self, studio.document_replaced, self.follow)
            self.follow(studio.document)

        def follow(self, document):
            binding.connect(self, document.changed, self.show_shares)
            self.show_shares()

        def show_shares(self, _change=None):
            document = studio.document
            counts = {
                node.name: document.report.status(node.id).parameters or 0
                for node in document.state.layers()
            }
            total = sum(counts.values())
            ordered = sorted(counts.items(), key=lambda each: -each[1])
            self.facts.show_facts(
                [
                    (name, f"{count / total:.1%}", f"{count} of {total} parameters")
                    for name, count in ordered
                    if count
                ]
            )
            self.set_note(f"{total} parameters" if total else "")
            self.show_empty(None if total else self.nothing)

    return SharesPane()
