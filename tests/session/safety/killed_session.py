"""Edits a document at random until it is killed; started by the test of recovery.

It waits for a line on its input and then forks: the child edits, and says by number and hash which
state it is going to make and which it has made. So each session begins at once, all imports done.
"""

from __future__ import annotations

import os
import random
import sys
from pathlib import Path

from studio.session.core.scheduling import ManualScheduler
from studio.session.core.tasks import TaskList
from studio.session.document.document import Document
from studio.session.document.edits.layers import add_layer, rename, set_option
from studio.session.document.edits.places import move
from studio.session.document.edits.removal import delete
from studio.session.document.edits.sections import set_data, set_notes, set_training
from studio.session.document.state import DocumentState
from studio.session.safety.recovery import Recovery


def edit(state: DocumentState, dice: random.Random, number: int) -> DocumentState:
    """Another state, by one of the user's commands."""
    layers = [node for node in state.layers() if node.type_name == "Dense"]
    choice = dice.randrange(7)
    if choice == 0 or len(layers) < 2:
        return add_layer(state, "Dense", config={"units": dice.randrange(1, 99)})
    some = dice.choice(layers)
    if choice == 1:
        return set_option(state, some.id, "units", number + 1)
    if choice == 2:
        return rename(state, some.id, f"layer_{number}")
    if choice == 3 and len(layers) > 6:
        return delete(state, [some.id])
    if choice == 4:
        return set_training(state, {"epochs": number + 1})
    if choice == 5:
        return set_data(state, {"source": "spirals", "seed": number})
    if choice == 6:
        return set_notes(state, f"note {number} " * 20)
    return move(state, {some.id: (float(number), 5.0)})


def session(folder: Path, project: str, seed: int) -> None:
    """Edit until somebody ends it."""
    scheduler = ManualScheduler()
    tasks = TaskList(scheduler)
    recovery = Recovery(folder, scheduler, tasks)
    document = Document.open(project) if project else Document.new()
    recovery.follow(document)
    dice = random.Random(seed)
    number = 0
    while True:
        number += 1
        chance = dice.random()
        before = document.state
        if chance < 0.1 and document.history.position > 1:
            target = document.history.steps[document.history.position - 2].state
            run = document.undo
        elif chance < 0.15 and document.history.redo_text:
            target = document.history.steps[document.history.position].state
            run = document.redo
        else:
            target = edit(before, dice, number)
            run = lambda target=target: document.apply(f"Step {number}", target)  # noqa: B023, E731
        if target == before:
            continue
        say(f"will {number} {target.content_hash}")
        run()
        say(f"done {number} {document.state.content_hash}")
        scheduler.advance(0.01)


def say(line: str) -> None:
    os.write(1, f"{line}\n".encode())


def main() -> None:
    for line in sys.stdin:
        folder, project, seed = line.rstrip("\n").split("\t")
        child = os.fork()
        if child == 0:
            session(Path(folder), project, int(seed))
        say(f"pid {child}")
        os.waitpid(child, 0)
        say("over")


if __name__ == "__main__":
    main()
