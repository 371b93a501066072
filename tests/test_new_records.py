"""A class in a file of its own is all that a new layer, loss, metric, optimiser or callback needs.

Each test writes such a file into a folder that a child process counts to the package, so that the
file is found as any other one.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent
from typing import Any

ROOT = Path(__file__).resolve().parent.parent

# Adds the folder to the package, then runs the rest; what it prints last is its answer.
BEGIN = """
import json, sys
from importlib import import_module
import_module(sys.argv[1]).__path__.append(sys.argv[2])
"""


def answers(folder: Path, package: str, record: str, code: str) -> Any:
    """What ``code`` prints as JSON, in a process where ``record`` is a module of ``package``."""
    (folder / "another.py").write_text(dedent(record), encoding="utf-8")
    child = subprocess.run(
        [sys.executable, "-c", BEGIN + dedent(code), package, str(folder)],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert child.returncode == 0, child.stderr
    return json.loads(child.stdout)


LAYER = '''
"""A layer that multiplies by a number."""

from studio.engine.core.options import number
from studio.engine.isa.ops.arithmetic import Scale
from studio.engine.layers.layer import Layer


class Magnify(Layer):
    """Multiplies everything by one number."""

    category = "preprocessing"
    words = ("zoom", "enlarge")
    followers = ("Dense",)
    follows = ("Input",)
    positional = ("factor",)

    factor = number("What is multiplied by.", effect="More is louder.", start=2.5)

    def lower(self, context, *inputs):
        """SCALE."""
        return context.emit(Scale, x=inputs[0], alpha=self.factor)
'''


def test_a_layer(tmp_path: Path) -> None:
    found = answers(
        tmp_path,
        "studio.engine.layers",
        LAYER,
        """
        import numpy as np
        from studio import engine
        from studio.engine.layers.catalog import all_layers
        from studio.graph_editor.model.edits.layers import add_layer
        from studio.graph_editor.model.layer_names import successors, type_of_word
        from studio.graph_editor.model.net_text import parse_net
        from studio.graph_editor.model.palette import Palette
        from studio.graph_editor.model.quick_add import Place, QuickAdd
        from studio.graph_editor.model.state import DocumentState

        model = engine.Sequential([engine.Input((3,)), engine.Magnify(3.0), engine.Dense(1)])
        model.compile("sgd", "mse")
        x = np.ones((4, 3), np.float32)
        before = model.predict(x)
        history = model.fit(x, np.ones((4, 1), np.float32), epochs=2)
        state = add_layer(DocumentState(), "Input", config={"shape": [4]})
        state = add_layer(state, "Magnify")
        (option,) = engine.Magnify.form_options()
        print(json.dumps({
            "listed": [cls.__name__ for cls in all_layers()][-2:],
            "named": "Magnify" in engine.__all__,
            "lower": history.history["loss"][1] < history.history["loss"][0],
            "weights": before.shape == (4, 1),
            "word": type_of_word("ZOOM"),
            "after": successors("Input"),
            "offered": QuickAdd().offers(state, "enlarge", Place())[0].entry.title,
            "net": [layer.type_name for layer in parse_net("zoom 4 > dense 2")],
            "palette": [g.title for g in Palette().groups()
                        if "Magnify" in [e.title for e in g.entries]],
            "config": {n.type_name: dict(n.config) for n in state.nodes.values()}["Magnify"],
            "option": [option.label, option.effect, option.start],
        }))
        """,
    )
    assert found == {
        "listed": ["Magnify", "Rescaling"],
        "named": True,
        "lower": True,
        "weights": True,
        "word": "Magnify",
        "after": ["Conv2D", "Flatten", "Dense", "Rescaling", "Magnify"],
        "offered": "Magnify",
        "net": ["Magnify", "Dense"],
        "palette": ["Data"],
        "config": {"factor": 2.5, "name": "magnify"},
        "option": ["Factor", "More is louder.", 2.5],
    }


# What the other tests train: two numbers follow from three, with settings of a project file.
TRAIN = """
import numpy as np
from studio import engine
from studio.engine.train.settings import TrainingSettings

def setting(name):
    (option,) = [o for o in TrainingSettings.form_options() if o.name == name]
    return {kind.key: kind for kind in option.kinds.kinds}

rng = np.random.default_rng(1)
x, y = rng.normal(size=(64, 3)).astype("f"), rng.normal(size=(64, 2)).astype("f")
model = engine.Sequential([engine.Input((3,)), engine.Dense(2)])
"""


LOSS = '''
"""Logarithm of the hyperbolic cosine."""

from studio.engine.isa.ops import activation, arithmetic
from studio.engine.optim.losses import PointwiseLoss


class LogCosh(PointwiseLoss, aliases=("log_cosh",)):
    """Nearly the squared error near the target, and the distance farther away."""

    effect = "squares of small differences, large ones as they are"

    def terms(self, emit, p, t):
        """d + softplus(-2·d) - ln 2 with d = p - t."""
        error = emit(arithmetic.Add, x1=p, x2=t, alpha=1.0, beta=-1.0)
        turned = emit(arithmetic.Scale, x=error, alpha=-2.0)
        bent = emit(activation.Softplus, x=turned)
        total = emit(arithmetic.Add, x1=error, x2=bent)
        return emit(arithmetic.AddScalar, x=total, beta=-0.6931471805599453)
'''


def test_a_loss(tmp_path: Path) -> None:
    found = answers(
        tmp_path,
        "studio.engine.optim",
        LOSS,
        TRAIN
        + """
from studio.engine.train.guessing import guessing_loss
from studio.graph_editor.model.edits.chains import NewLayer, add_chain
from studio.graph_editor.model.edits.sections import set_training
from studio.graph_editor.model.repairs.search import with_fixes
from studio.graph_editor.model.report import DataFacts
from studio.graph_editor.model.state import DocumentState
from studio.graph_editor.model.validation import validate
from studio.ui.models.evaluation_measures import has_logits, regress

chain = [NewLayer("Input", {"shape": [3]}), NewLayer("Dense", {"units": 2})]
state = add_chain(DocumentState(), chain, at=(0.0, 0.0)).state
state = set_training(state, {"loss": "CategoricalCrossentropy"})
facts = DataFacts((3,), "table", 0, 2)
report = with_fixes(validate(state, facts), state, facts)
fixes = [fix for problem in report.problems for fix in problem.fixes]

model.compile("sgd", "log_cosh")
before = model.predict(x).astype(np.float64)
losses = model.fit(x, y, epochs=5).history["loss"]
wanted = np.log(np.cosh(before - y)).mean(axis=1)
measured = regress(before, y, [engine.LogCosh()])
print(json.dumps({
    "name": engine.LogCosh.__name__ in engine.__all__,
    "lower": bool(losses[-1] < losses[0] < wanted.mean() * 1.1),
    "measured": bool(np.allclose(measured.losses, wanted, atol=1e-5)),
    "logits": has_logits([engine.LogCosh()]),
    "offered": [(fix.text, fix.effect) for fix in fixes],
    "file": TrainingSettings(loss="log_cosh").plain()["loss"],
    "inspector": [setting("loss")["LogCosh"].label, setting("loss")["LogCosh"].doc],
}))
""",
    )
    assert found == {
        "name": True,
        "lower": True,
        "measured": True,
        "logits": False,
        "offered": [
            ["Let the loss follow from the data", "the loss is MeanSquaredError"],
            [
                "Set the loss to LogCosh",
                "squares of small differences, large ones as they are",
            ],
            [
                "Set the loss to MeanAbsoluteError",
                "the mean of the differences, whatever their sign",
            ],
        ],
        "file": "LogCosh",
        "inspector": [
            "Log cosh",
            "Nearly the squared error near the target, and the distance farther away.",
        ],
    }


METRIC = '''
"""A metric of numbers."""

from studio.engine.isa.ops import arithmetic, function, reduce
from studio.engine.optim.metrics import Metric


class Agreement(Metric, aliases=("agreement",)):
    """Mean of e^-|p - t|."""

    more_is_better = True
    is_share = True

    def emit(self, builder, p, t, name):
        """The instructions of it."""
        error = builder.emit("metrics", arithmetic.Add, x1=p, x2=t, alpha=1.0, beta=-1.0)[0]
        size = builder.emit("metrics", function.Abs, x=error)[0]
        turned = builder.emit("metrics", function.Neg, x=size)[0]
        near = builder.emit("metrics", function.Exp, x=turned)[0]
        return builder.emit("metrics", reduce.ReduceMean, name=name, port="value", x=near)[0]
'''


def test_a_metric(tmp_path: Path) -> None:
    found = answers(
        tmp_path,
        "studio.engine.optim",
        METRIC,
        TRAIN
        + """
from studio.engine.train.callbacks.callback import higher_is_better
from studio.ui.models.runs_columns import is_share

model.compile("sgd", "mse", ["agreement"])
wanted = np.exp(-np.abs(model.predict(x) - y)).mean()
print(json.dumps({
    "name": "Agreement" in engine.__all__,
    "value": bool(np.isclose(model.evaluate(x, y, return_dict=True)["agreement"], wanted, 1e-5)),
    "better": [higher_is_better("val_agreement", "auto"), higher_is_better("val_loss", "auto")],
    "share": [is_share("val_agreement"), is_share("val_mean_squared_error")],
    "fits": [engine.Agreement().fits((1, 3), (1, 3)), engine.Agreement().fits((1, 3), (1,))],
    "inspector": setting("metrics")["Agreement"].doc,
}))
""",
    )
    assert found == {
        "name": True,
        "value": True,
        "better": [True, False],
        "share": [True, False],
        "fits": [True, False],
        "inspector": "Mean of e^-|p - t|.",
    }


OPTIMIZER = '''
"""An optimiser with another default."""

from studio.engine.core.options import number
from studio.engine.isa.ops import update
from studio.engine.optim.optimizers import Optimizer, Rule


class Heavy(Optimizer, aliases=("heavy",)):
    """Descent that keeps most of its direction."""

    weight = number("How much is kept.", 0.95, low=0.0, high=1.0)

    def rule(self):
        """UPDATE_MOMENTUM."""
        return Rule(update.UpdateMomentum, {"m": ""}, {"momentum": self.weight})
'''


def test_an_optimizer(tmp_path: Path) -> None:
    found = answers(
        tmp_path,
        "studio.engine.optim",
        OPTIMIZER,
        TRAIN
        + """
model.compile("heavy", "mse")
losses = model.fit(x, y, epochs=5).history["loss"]
print(json.dumps({
    "name": "Heavy" in engine.__all__,
    "lower": losses[-1] < losses[0],
    "file": TrainingSettings(optimizer=engine.Heavy(weight=0.5)).plain()["optimizer"],
    "inspector": [o.name for o in setting("optimizer")["Heavy"].options][:1],
}))
""",
    )
    assert found == {
        "name": True,
        "lower": True,
        "file": {"type": "Heavy", "config": {"weight": 0.5}},
        "inspector": ["learning_rate"],
    }


SCHEDULE = '''
"""A rate that goes up and down."""

from studio.engine.core.options import integer, number
from studio.engine.optim.schedules import Schedule


class Zigzag(Schedule, aliases=("zigzag",)):
    """Every second stretch has half the rate."""

    first = number("Learning rate.", 0.1, low=0.0)
    stretch = integer("Steps of a stretch.", 10, low=1)

    def rate(self, step):
        """The rate of a step."""
        return self.first / (1 + step // self.stretch % 2)
'''


def test_a_schedule(tmp_path: Path) -> None:
    found = answers(
        tmp_path,
        "studio.engine.optim",
        SCHEDULE,
        TRAIN
        + """
optimizer = engine.SGD(engine.Zigzag(stretch=2))
print(json.dumps({
    "name": "Zigzag" in engine.__all__,
    "rates": [optimizer.rate(step) for step in range(5)],
    "again": engine.SGD.from_json(optimizer.to_json()) == optimizer,
    "inspector": engine.SGD.learning_rate.kinds.kind("Zigzag").doc,
}))
""",
    )
    assert found == {
        "name": True,
        "rates": [0.1, 0.1, 0.05, 0.05, 0.1],
        "again": True,
        "inspector": "Every second stretch has half the rate.",
    }


CALLBACK = '''
"""An end by a number."""

from studio.engine.core.options import number
from studio.engine.train.callbacks.callback import ProjectCallback


class StopBelow(ProjectCallback):
    """Stops once the loss is below a number."""

    loss = number("The number.", 0.5)

    def on_epoch_end(self, epoch, logs):
        """Compare."""
        if logs["loss"] < self.loss:
            self.training.stop_training("low enough")
'''


def test_a_callback(tmp_path: Path) -> None:
    found = answers(
        tmp_path,
        "studio.engine.train.callbacks",
        CALLBACK,
        TRAIN
        + """
model.compile("sgd", "mse")
stop = engine.StopBelow(loss=1e9)
history = model.fit(x, y, epochs=5, callbacks=[stop])
given = [{"type": "StopBelow", "config": {"loss": 2.0}}]
print(json.dumps({
    "name": "StopBelow" in engine.__all__,
    "epochs": len(history.epoch),
    "file": TrainingSettings(callbacks=given).plain()["callbacks"],
    "inspector": setting("callbacks")["StopBelow"].doc,
}))
""",
    )
    assert found == {
        "name": True,
        "epochs": 1,
        "file": [{"type": "StopBelow", "config": {"loss": 2.0}}],
        "inspector": "Stops once the loss is below a number.",
    }


INITIALIZER = '''
"""A dense layer whose weights begin in a way of its own."""

import numpy as np

from studio.engine.layers.dense import Dense
from studio.engine.layers.initializers import Initializer, initializer


class Halves(Initializer, word="halves"):
    """All one half."""

    def draw(self, source):
        """Halves."""
        return np.full(source.shape, 0.5, np.float32)


class Even(Dense):
    """A dense layer that begins with the mean of its inputs."""

    kernel_initializer = initializer("How the kernel begins.", "halves")
'''


def test_an_initializer_and_a_layer_made_from_another(tmp_path: Path) -> None:
    found = answers(
        tmp_path,
        "studio.engine.layers",
        INITIALIZER,
        """
        # First of all a module that the new one imports, and that looks initialisers up itself.
        from studio.engine.layers.dense import Dense
        from studio import engine
        from studio.engine.layers.initializers import Initializer

        option = engine.Dense.kernel_initializer
        model = engine.Sequential([engine.Input((2,)), engine.Even(1)])
        print(json.dumps({
            "names": [engine.Dense is Dense, "Even" in engine.__all__, engine.Even.words],
            "offered": option.kinds.kind("halves").doc,
            "weights": model.get_weights()[0].tolist(),
            "parsed": Initializer.parse("halves", "test").text,
        }))
        """,
    )
    assert found == {
        "names": [True, True, []],
        "offered": "All one half.",
        "weights": [[0.5], [0.5]],
        "parsed": "halves",
    }
