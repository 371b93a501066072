"""Journals, autosaves, locks and failed saves: what was done is there again, files are left be."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studio.engine.core.errors import FormatError, StudioError
from studio.engine.core.process_identity import ProcessIdentity, own_identity, start_of
from studio.session.data.data import DataModel
from studio.session.document.arrange.wrapping import Room
from studio.session.document.document import Document
from studio.session.document.edits.layers import add_layer, set_option
from studio.session.document.edits.places import move
from studio.session.document.edits.removal import delete
from studio.session.document.edits.sections import set_data, set_notes
from studio.session.document.files.project_file import project_of_state
from studio.session.document.state import DocumentState
from studio.session.safety import recovery
from studio.session.safety.journal import (
    Journal,
    JournalOwner,
    PlainState,
    difference_to_json,
    read_journal,
    state_to_json,
)
from studio.session.safety.recovery import DocumentLocks, Recovery
from studio.session.safety.recovery_sessions import find_sessions, sweep_journals
from tests.session.desk import Desk
from tests.session.safety.killed_session import edit

ROOT = Path(__file__).resolve().parents[3]
DEAD = ProcessIdentity(2**22 + 12345, "never")


class RecoveryDesk(Desk):
    """A desk whose document is written down."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = folder
        self.told: list[StudioError] = []
        self.recovery = Recovery(folder, self.scheduler, self.tasks, self.told.append)
        self.recovery.follow(self.document)

    def journals(self) -> list[Path]:
        return sorted((self.folder / "journals").glob("*.journal"))

    def written(self) -> DocumentState | None:
        return read_journal(self.journals()[-1]).state

    def add(self, units: int) -> None:
        state = add_layer(self.document.state, "Dense", config={"units": units})
        self.document.apply(f"Add {units}", state)


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[RecoveryDesk]:
    made = RecoveryDesk(tmp_path / "state")
    yield made
    made.recovery.close()
    made.tasks.close()


def states(seed: int, count: int) -> list[DocumentState]:
    dice, found = random.Random(seed), [Document.new().state]
    for number in range(count):
        found.append(edit(found[-1], dice, number))
    return found


@pytest.mark.slow
@given(st.integers(0, 10_000))
def test_differences_lead_from_any_state_to_any_other(seed: int) -> None:
    found = states(seed, 12)
    dice = random.Random(seed)
    plain = PlainState(state_to_json(found[0]))
    here = found[0]
    for _ in range(12):
        there = dice.choice(found)
        plain.apply(difference_to_json(here, there))
        assert plain.state().content_hash == there.content_hash
        here = there


def test_a_network_laid_out_for_its_window_leaves_no_journal_until_it_is_edited(
    desk: RecoveryDesk, tmp_path: Path
) -> None:
    file = tmp_path / "plain.glassbox"
    state = add_layer(Document.new().state, "Input", config={"shape": [8, 8, 1]})
    state = add_layer(add_layer(state, "Flatten"), "Dense", config={"units": 3})
    project = project_of_state(state)
    project.layout = {}
    project.save(file)
    document = Document.open(file)
    desk.recovery.follow(document)
    assert document.lay_out_for(Room(300.0, 900.0))
    desk.scheduler.advance(1.0)
    assert not desk.journals()
    laid_out = document.state
    document.apply("Add", add_layer(document.state, "Dense", config={"units": 7}))
    assert desk.written() == document.state
    assert document.undo()
    assert not document.dirty
    assert desk.written() == laid_out, "a journal that was begun goes on"


def owner(path: Path | None = None, process: ProcessIdentity = DEAD) -> JournalOwner:
    return JournalOwner("a" * 32, path, process)


@pytest.mark.slow
def test_a_journal_cut_anywhere_gives_the_last_whole_state(tmp_path: Path) -> None:
    found = states(3, 8)
    path = tmp_path / "j.journal"
    journal = Journal(path, owner())
    ends = [journal.nbytes]
    for state in found:
        journal.append(state, "step")
        ends.append(journal.nbytes)
    journal.close()
    content = path.read_bytes()
    assert len(content) == ends[-1]
    for cut in range(ends[0], len(content) + 1):
        path.write_bytes(content[:cut])
        whole = sum(end <= cut for end in ends) - 1
        read = read_journal(path)
        assert read.steps == whole
        assert read.is_torn == (cut not in ends)
        expected = found[whole - 1].content_hash if whole else None
        assert (None if read.state is None else read.state.content_hash) == expected


def test_a_damaged_journal_gives_what_stands_before_the_damage(tmp_path: Path) -> None:
    found = states(4, 6)
    path = tmp_path / "j.journal"
    journal = Journal(path, owner())
    for state in found[:4]:
        journal.append(state, "step")
    good = journal.nbytes
    for state in found[4:]:
        journal.append(state, "step")
    journal.close()
    content = bytearray(path.read_bytes())
    content[good + 12] ^= 0xFF
    path.write_bytes(bytes(content))
    read = read_journal(path)
    assert read.is_torn
    assert read.state is not None
    assert read.state.content_hash == found[3].content_hash
    path.write_bytes(b"something else")
    with pytest.raises(FormatError, match="no journal"):
        read_journal(path)


def test_every_step_is_written_at_once(desk: RecoveryDesk) -> None:
    assert not desk.journals()
    for units in (3, 5, 7):
        desk.add(units)
        assert desk.written() == desk.document.state
    desk.document.undo()
    assert desk.written() == desk.document.state
    desk.document.redo()
    assert desk.written() == desk.document.state


def test_a_dragged_number_is_written_when_it_rests(desk: RecoveryDesk) -> None:
    desk.add(3)
    name = next(iter(desk.document.state.nodes))
    for units in range(10, 60):
        state = set_option(desk.document.state, name, "units", units)
        desk.document.apply("Change units", state, "units")
    size = desk.recovery._journal.nbytes if desk.recovery._journal else 0
    desk.scheduler.advance(recovery.MERGED_SECONDS)
    assert desk.written() == desk.document.state
    assert desk.recovery._journal is not None
    assert desk.recovery._journal.nbytes - size < 1000, "fifty changes are not fifty records"


def test_a_gesture_is_written_when_it_ends(desk: RecoveryDesk) -> None:
    desk.add(3)
    name = next(iter(desk.document.state.nodes))
    desk.document.begin_gesture("Move")
    for x in range(5):
        desk.document.apply("Move", move(desk.document.state, {name: (float(x), 9.0)}))
    desk.document.commit_gesture()
    assert desk.written() == desk.document.state


def test_saving_empties_the_journal_and_leaving_removes_it(
    desk: RecoveryDesk, tmp_path: Path
) -> None:
    desk.add(3)
    assert len(desk.journals()) == 1
    desk.document.save(tmp_path / "p.glassbox")
    assert not desk.journals()
    desk.add(4)
    assert len(desk.journals()) == 1
    desk.recovery.follow(Document.new())
    assert not desk.journals()
    (copy,) = desk.recovery.copies(desk.document)
    assert Document.open(copy).state.content_hash == desk.document.state.content_hash


def test_a_long_journal_begins_anew_with_the_whole_state(
    desk: RecoveryDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recovery, "JOURNAL_BYTES", 4000)
    for number in range(60):
        desk.document.apply("Note", set_notes(desk.document.state, os.urandom(200).hex()))
        assert desk.written() == desk.document.state, number
        assert len(desk.journals()) == 1
        assert desk.journals()[0].stat().st_size < 6000


def test_work_of_a_dead_window_is_offered_with_what_differs(tmp_path: Path) -> None:
    document = Document.new()
    for units in (4, 5):
        document.apply("Add", add_layer(document.state, "Dense", config={"units": units}))
    document.save(tmp_path / "p.glassbox")
    original = (tmp_path / "p.glassbox").read_bytes()
    state = delete(document.state, ["dense"])
    state = add_layer(state, "Flatten")
    state = set_data(set_option(state, "dense_1", "units", 99), {"source": "iris"})
    folder = tmp_path / "journals"
    journal = Journal(folder / "x-0001.journal", owner(tmp_path / "p.glassbox"))
    journal.append(document.state, "")
    journal.append(state, "Use iris")
    journal.close()
    (session,) = find_sessions(folder, own_identity())
    assert session.size_text == "+1 layer, −1 layer, 1 layer changed, data"  # noqa: RUF001
    assert session.details == ("added flatten", "removed dense", "changed dense_1", "data")
    assert session.last_step == "Use iris"
    made = session.document()
    assert made.path == tmp_path / "p.glassbox"
    assert made.dirty
    assert made.state.content_hash == state.content_hash
    made.undo()
    assert made.state.content_hash == document.state.content_hash
    assert not made.dirty
    assert (tmp_path / "p.glassbox").read_bytes() == original


def test_journals_of_running_windows_and_without_changes_are_left_out(tmp_path: Path) -> None:
    document = Document.new()
    state = add_layer(document.state, "Dense", config={"units": 4})
    for name, who, content in (
        ("live", own_identity(), state),
        ("same", DEAD, document.state),
    ):
        journal = Journal(tmp_path / f"{name}.journal", JournalOwner(name * 8, None, who))
        journal.append(content, "x")
        journal.close()
    (tmp_path / "damaged.journal").write_bytes(b"GBJ1\x00\x01")
    nobody = ProcessIdentity(0, "")
    assert [s.title for s in find_sessions(tmp_path, nobody)] == []
    assert sweep_journals(tmp_path, nobody) == 1
    assert {path.name for path in tmp_path.iterdir()} == {"live.journal", "damaged.journal"}


def test_a_restored_session_is_written_down_before_its_journal_goes(
    desk: RecoveryDesk, tmp_path: Path
) -> None:
    state = add_layer(Document.new().state, "Dense", config={"units": 4})
    old = Journal(desk.folder / "journals" / "old-0001.journal", owner())
    old.append(state, "Add")
    old.close()
    desk.recovery.look()
    desk.settle()
    (session,) = desk.recovery.sessions
    document = desk.recovery.restore(session)
    assert old.path.exists()
    desk.recovery.follow(document)
    assert not old.path.exists()
    assert desk.recovery.sessions == ()
    written = desk.written()
    assert written is not None
    assert written.content_hash == state.content_hash


def test_looking_where_nothing_was_left_changes_nothing(desk: RecoveryDesk) -> None:
    """The welcome page replaces its buttons on a change, and a click under way would be lost."""
    sent: list[None] = []

    def note() -> None:
        sent.append(None)

    desk.recovery.changed.connect(note)
    desk.recovery.look()
    desk.settle()
    assert desk.recovery.sessions == ()
    assert sent == []


def test_a_project_without_a_file_is_known_by_its_runs_after_a_crash(desk: RecoveryDesk) -> None:
    desk.add(4)
    place = desk.journals()[0]
    uuid, state = desk.document.uuid, desk.document.state
    desk.recovery.follow(None)
    old = Journal(place, JournalOwner(uuid, None, DEAD))
    old.append(state, "Add")
    old.close()
    desk.recovery.look()
    desk.settle()
    (session,) = desk.recovery.sessions
    document = desk.recovery.restore(session)
    assert document.uuid == uuid
    desk.recovery.follow(document)
    assert not place.exists()
    assert desk.written() == document.state
    desk.recovery.follow(None)
    assert desk.journals() == []


def test_a_disk_that_refuses_the_journal_is_said_once(tmp_path: Path) -> None:
    blocker = tmp_path / "state"
    blocker.write_text("a file where a folder should be")
    desk = RecoveryDesk(blocker)
    try:
        desk.add(3)
        desk.add(4)
        assert len(desk.told) == 1
        assert "cannot be backed up" in desk.told[0].message
        blocker.unlink()
        desk.add(5)
        assert desk.written() == desk.document.state
        blocker.rename(tmp_path / "away")
    finally:
        desk.recovery.close()
        desk.tasks.close()


FULL_DISK = """
import resource, signal, sys
from pathlib import Path
from studio.session.document.document import Document
from studio.session.document.edits.sections import set_notes
from studio.engine.core.errors import StudioError
from studio.session.safety.recovery import Recovery
from studio.session.core.scheduling import ManualScheduler
from studio.session.core.tasks import TaskList
home = Path(sys.argv[1])
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
scheduler = ManualScheduler()
told = []
recovery = Recovery(home / "state", scheduler, TaskList(scheduler), told.append)
document = Document.open(home / "p.glassbox")
recovery.follow(document)
document.apply("Note", set_notes(document.state, "short"))
resource.setrlimit(resource.RLIMIT_FSIZE, (4000, resource.RLIM_INFINITY))
import random
noise = "".join(random.choice("abcdefghijklmnopqrstuvwxyz0123456789") for _ in range(20000))
document.apply("Note", set_notes(document.state, noise))
try:
    recovery.save(document)
except StudioError as error:
    sys.stdout.write(f"{error.message}|{error.hint}|{document.dirty}|{len(told)}\\n")
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
recovery.save(document)
sys.stdout.write(f"{document.dirty}|{len(document.state.notes)}\\n")
recovery.close()
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="limits of processes are those of Unix")
def test_a_full_disk_is_said_and_the_work_stays(tmp_path: Path) -> None:
    document = Document.new()
    document.apply("Add", add_layer(document.state, "Dense", config={"units": 4}))
    document.save(tmp_path / "p.glassbox")
    original = (tmp_path / "p.glassbox").read_bytes()
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(tmp_path)], capture_output=True, text=True, cwd=ROOT,
        check=False, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    first, second = done.stdout.splitlines()
    message, hint, dirty, told = first.split("|")
    assert message.startswith("cannot write the file: ")
    assert "no copy could be saved either" in hint
    assert (dirty, told) == ("True", "1")
    assert second == "False|20000"
    assert (tmp_path / "p.glassbox").read_bytes() != original
    assert Document.open(tmp_path / "p.glassbox").state.notes[:5] != "short"
    assert not list(tmp_path.glob(".*tmp"))


def test_a_folder_that_may_not_be_written_keeps_the_document_dirty_and_a_copy(
    desk: RecoveryDesk, tmp_path: Path
) -> None:
    desk.add(3)
    desk.document.save(tmp_path / "p.glassbox")
    original = (tmp_path / "p.glassbox").read_bytes()
    desk.add(4)
    data = DataModel(desk.current, desk.tasks)
    target = Path("/proc/none/p.glassbox")
    with pytest.raises(StudioError) as caught:
        desk.recovery.save(desk.document, data, target)
    assert "cannot write the file" in caught.value.message
    assert "a copy was saved to" in caught.value.hint
    assert desk.document.dirty
    assert desk.document.path == tmp_path / "p.glassbox"
    (copy,) = desk.recovery.copies(desk.document)
    assert Document.open(copy).state.content_hash == desk.document.state.content_hash
    assert (tmp_path / "p.glassbox").read_bytes() == original


def test_autosaves_rotate_and_skip_what_is_saved(
    desk: RecoveryDesk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recovery, "KEPT", 4)
    for units in range(1, 8):
        desk.add(units)
        desk.scheduler.advance(recovery.AUTOSAVE_SECONDS + 1)
        desk.settle()
    copies = desk.recovery.copies(desk.document)
    assert len(copies) == 4
    assert Document.open(copies[0]).state.content_hash == desk.document.state.content_hash
    assert len(list(Document.open(copies[3]).state.layers())) == 4
    desk.document.save(tmp_path / "p.glassbox")
    desk.scheduler.advance(3 * recovery.AUTOSAVE_SECONDS)
    desk.settle()
    assert desk.recovery.copies(desk.document) == ()


@pytest.mark.slow
def test_two_windows_with_one_file_know_of_each_other(tmp_path: Path) -> None:
    path = tmp_path / "p.glassbox"
    path.write_text("x")
    script = (
        "import sys; from pathlib import Path\n"
        "from studio.session.safety.recovery import DocumentLocks\n"
        "DocumentLocks(Path(sys.argv[1])).take(Path(sys.argv[2]), 'other')\n"
        "sys.stdout.write('taken\\n'); sys.stdout.flush(); sys.stdin.readline()\n"
    )
    other = subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path / "open"), str(path)], cwd=ROOT,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    locks = DocumentLocks(tmp_path / "open")
    try:
        assert other.stdout is not None
        assert other.stdout.readline() == "taken\n"
        (holder,) = locks.take(path, "mine")
        assert holder.process.pid == other.pid
        assert locks.others(tmp_path / "another.glassbox") == ()
    finally:
        other.kill()
        other.communicate()
    assert locks.others(path) == ()
    assert [p.name for p in (tmp_path / "open").iterdir()] == [
        f"{next((tmp_path / 'open').iterdir()).name}"
    ]
    locks.release(path, "mine")
    assert list((tmp_path / "open").iterdir()) == []


def test_a_number_given_again_is_another_process() -> None:
    own = own_identity()
    assert own.is_running
    assert own.pid == os.getpid()
    assert start_of(own.pid) == own.started
    assert not ProcessIdentity(own.pid, "another time").is_running
    done = subprocess.Popen([sys.executable, "-c", "pass"])
    done.wait()
    assert start_of(done.pid) is None
    assert not ProcessIdentity(done.pid, "whenever").is_running
