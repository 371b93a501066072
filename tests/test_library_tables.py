"""The tables of ``docs/library.md`` list what the registries hold."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path

from studio.engine.core.configured import Configured
from studio.engine.core.options import Option
from studio.engine.layers.initializers import Initializer
from studio.engine.layers.layer import Layer
from studio.engine.layers.regularizers import Regularizer
from studio.engine.layers.text_form import TextForm
from studio.engine.optim.losses import Loss
from studio.engine.optim.metrics import Metric
from studio.engine.optim.optimizers import Optimizer
from studio.engine.optim.schedules import Schedule
from studio.engine.train.callbacks.callback import ProjectCallback

LIBRARY = Path(__file__).resolve().parent.parent / "docs" / "library.md"

FAMILIES: dict[str, type[Configured]] = {
    "layers": Layer,
    "initialisers": Initializer,
    "penalties": Regularizer,
    "losses": Loss,
    "metrics": Metric,
    "optimisers": Optimizer,
    "schedules": Schedule,
    "callbacks": ProjectCallback,
}


def first_sentence(cls: type[Configured]) -> str:
    """What a class says it is, without markup that a table has no use for."""
    text = " ".join((cls.__doc__ or "").split("\n\n")[0].split())
    return text.replace("``", "`").replace("|", "\\|")


def option_text(option: Option[object]) -> str:
    """The option's name, with its default where that is plain and short."""
    if option.required:
        return f"**`{option.name}`**"
    shown = option.plain(option.default)
    short = isinstance(shown, bool | int | float | str) and len(str(shown)) <= 16
    return f"`{option.name}={shown}`" if short else f"`{option.name}`"


def table(kinds: Iterable[type[Configured]], shared: frozenset[str]) -> str:
    """A table of classes: name, what it is, its options besides those all of them have."""
    lines = ["| name | what it is | options |", "|---|---|---|"]
    for cls in kinds:
        own = [option_text(o) for o in cls.options if o.name not in shared and len(o.choices) != 1]
        name = cls.word if issubclass(cls, TextForm) else cls.__name__
        lines.append(f"| `{name}` | {first_sentence(cls)} | {', '.join(own)} |")
    return "\n".join(lines)


def with_tables(text: str) -> str:
    """The page, its tables written from the registries."""
    for name, family in FAMILIES.items():
        kinds = list(family.members.values())
        shared = frozenset(o.name for o in family.options)
        begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
        pattern = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
        made = f"{begin}\n{table(kinds, shared)}\n{end}"
        text, count = pattern.subn(lambda _, made=made: made, text)
        assert count == 1, f"expected one place for the table of {name}, found {count}"
    return text


def test_the_tables_list_what_there_is(golden: Callable[[str, str], None]) -> None:
    golden("../../docs/library.md", with_tables(LIBRARY.read_text(encoding="utf-8")))
