"""The page of all operations, made from the table: names, options and names elsewhere."""

from __future__ import annotations

from studio.engine.core.options import AnyOption
from studio.engine.operations.parameters import shown_default
from studio.engine.operations.table import OPERATIONS, Operation

_PREFACE = """# Operations

Made from the declarations in `studio/engine/operations`; a test keeps it current.

An operation is a name for one instruction or several. Operands of different element types are
brought to the larger one: bool is below int32, and int32 below float32. Shapes broadcast as in
NumPy. Axes are counted with the batch, negative ones from the end. The gradient of an operation is
that of its instructions; [instructions.md](instructions.md) says which have none.

Each is a function of `studio.engine.ops` and, where dimension 0 of its result stays the batch, a
layer: `Operator("mean", axis=-1)`.

An option in **bold** must be given. The last column has the names in NumPy, Keras' `ops`, ONNX and
TensorFlow.js, where options may differ. [operations-tfjs.md](operations-tfjs.md) lists all
functions of TensorFlow.js, and [operations-compared.md](operations-compared.md) puts lines of
PyTorch and TensorFlow.js beside ours. Notebooks in
`projects/notebooks` show operations at work.
"""

_TITLES = {"numpy": "NumPy", "keras": "Keras", "onnx": "ONNX", "tfjs": "TensorFlow.js"}


def operand_text(made: Operation) -> str:
    """Operands as in a call; those that may be left out in brackets."""
    return ", ".join(
        f"*{o.name}" if o.many else f"[{o.name}]" if o.optional else o.name for o in made.operands
    )


def option_text(option: AnyOption) -> str:
    """An option with its default, in bold where it must be given."""
    if option.required:
        return f"**`{option.name}`**"
    default = shown_default(option)
    return f"`{option.name}={list(default) if isinstance(default, tuple) else default!r}`"


def row(made: Operation) -> str:
    """One operation as a row of a table."""
    names = [
        f"{_TITLES[library]} {', '.join(f'`{name}`' for name in given)}"
        for library, given in made.aliases.items()
    ]
    cells = (
        f"`{made.name}({operand_text(made)})`",
        made.tip,
        ", ".join(option_text(option) for option in made.options),
        "; ".join(names),
    )
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def manual() -> str:
    """The page as Markdown, one table a family."""
    families: dict[str, list[Operation]] = {}
    for made in OPERATIONS.values():
        families.setdefault(made.family, []).append(made)
    parts = [_PREFACE, f"There are {len(OPERATIONS)} operations.\n"]
    for family in sorted(families):
        parts.append(f"## {family.replace('_', ' ').capitalize()}\n")
        parts.append("| operation | what it does | options | elsewhere |\n|---|---|---|---|")
        parts += [row(made) for made in families[family]]
        parts[-1] += "\n"
    return "\n".join(parts)
