"""``glassbox isa``: the instruction manual."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from studio.cli import console
from studio.engine.core.errors import ParameterError
from studio.engine.isa import ops
from studio.engine.isa.instruction import GradInstruction, all_instructions
from studio.engine.isa.manual import entry, entry_of, manual, markdown

ALL_FAMILIES = ops.__all__


def isa(
    mnemonic: Annotated[
        str | None, typer.Argument(help="Instruction to explain; all are listed if not given.")
    ] = None,
    as_markdown: Annotated[
        bool, typer.Option("--markdown", help="Print the whole manual as Markdown.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Explain an instruction, or list them all."""
    if as_markdown and (as_json or mnemonic is not None):
        raise ParameterError(
            "--markdown prints the whole manual and takes no other arguments", who="isa"
        )
    if mnemonic is not None:
        found = entry(mnemonic)
        if as_json:
            console.answer_json(asdict(found))
        else:
            console.say(markdown(found))
    elif as_markdown:
        console.say(manual())
    elif as_json:
        console.answer_json([asdict(entry_of(c)) for c in all_instructions()])
    else:
        console.table(
            ("opcode", "instruction", "category", "meaning"),
            [
                (str(c.code), c.mnemonic, c.category, (c.__doc__ or "").strip().splitlines()[0])
                for c in all_instructions()
                if not issubclass(c, GradInstruction)
            ],
            right=(0,),
        )
        console.say("A gradient instruction is GRADS_ and the name, opcode + 1000.")
