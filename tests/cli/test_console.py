"""Tables, JSON and the training bar as they are written."""

from __future__ import annotations

import io
import json
from dataclasses import replace

import pytest
from rich.console import Console

from studio.cli import console
from studio.cli.progress_bar import ProgressBar, clock, facts
from studio.engine.core.signal import Signal
from studio.engine.train.loop.progress import Progress, TimeLeft

REPORT = Progress(
    epoch=1,
    epochs=10,
    step=5,
    steps=10,
    total_step=15,
    metrics={"loss": 0.51234, "accuracy": 0.875},
    elapsed=3.0,
    left=TimeLeft(17.0),
    rows_per_second=1234.0,
)


class Reporter:
    """The signals of a trainer."""

    def __init__(self) -> None:
        self.progress: Signal[[Progress]] = Signal()
        self.compiling: Signal[[int, int]] = Signal()
        self.said: Signal[[str]] = Signal()
        self.warned: Signal[[str]] = Signal()


def terminal(monkeypatch: pytest.MonkeyPatch, width: int) -> io.StringIO:
    text = io.StringIO()
    made = Console(file=text, force_terminal=True, color_system=None, width=width)
    monkeypatch.setattr(console, "out", made)
    monkeypatch.setattr(console, "err", made)
    return text


def test_table_in_a_pipe_is_as_wide_as_its_cells(capsys: pytest.CaptureFixture[str]) -> None:
    console.table(("name", "n"), [("x" * 200, "1"), ("[bold]ü漢", "1,000")], right=(1,))
    lines = capsys.readouterr().out.split("\n")
    assert lines[0] == "name" + " " * 202 + "n"
    assert lines[1] == "x" * 200 + "      1"
    assert lines[2].startswith("[bold]ü漢 ")
    assert lines[2].endswith("  1,000")


def test_table_without_rows_is_its_heading(capsys: pytest.CaptureFixture[str]) -> None:
    console.table(("a", "b"), [])
    assert capsys.readouterr().out == "a  b\n"


def test_table_in_a_terminal_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    text = terminal(monkeypatch, 40)
    console.table(("instruction", "n"), [("GRADS_SOMETHING_LONG" * 3, "12,345.6")], right=(1,))
    assert "…" not in text.getvalue()
    assert "12,345.6" in text.getvalue()
    assert "".join(text.getvalue().split()).count("GRADS_SOMETHING_LONG") >= 1
    assert max(len(line) for line in text.getvalue().splitlines()) <= 40


def test_json_has_no_word_that_is_not_json(capsys: pytest.CaptureFixture[str]) -> None:
    console.answer_json({"a": [float("nan"), float("inf"), 1.5], "ü": (True, None)})
    assert json.loads(capsys.readouterr().out) == {"a": [None, None, 1.5], "ü": [True, None]}


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0:00"), (59.6, "1:00"), (3599, "59:59"), (3661, "1:01:01")]
)
def test_clock_reads_like_a_clock(seconds: float, text: str) -> None:
    assert clock(seconds) == text


def test_facts_put_the_time_to_go_first_and_fit_the_room() -> None:
    assert facts(REPORT) == "ETA 0:17  loss 0.5123  accuracy 0.8750  1,234 rows/s"
    assert facts(REPORT, 40) == "ETA 0:17  loss 0.5123  accuracy 0.8750"
    assert facts(REPORT, 3) == "ETA 0:17"
    assert (
        facts(replace(REPORT, left=TimeLeft(), metrics={"rate": 0.00123}), 20)
        == "ETA -  rate 0.0012"
    )


def test_bar_in_a_terminal_shows_compiling_then_training(monkeypatch: pytest.MonkeyPatch) -> None:
    text = terminal(monkeypatch, 80)
    trainer = Reporter()
    with ProgressBar(trainer) as bar:  # type: ignore[arg-type]
        trainer.compiling.emit(3, 12)
        bar.refresh()
        bar._bar.refresh()
        assert "3/12 kernels" in text.getvalue()
        trainer.compiling.emit(12, 12)
        trainer.said.emit("the rate is halved [now]")
        trainer.progress.emit(REPORT)
        bar.refresh()
    assert "the rate is halved [now]" in text.getvalue()
    last = [line for line in text.getvalue().splitlines() if "epoch" in line][-1]
    last = last[last.index("epoch") :]
    assert last.startswith("epoch 2/10 ")
    assert last.rstrip().endswith("ETA 0:17  loss 0.5123  accuracy 0.8750")
    assert len(last.rstrip()) <= 80
    trainer.progress.emit(replace(REPORT, epoch=5))
    assert bar._latest == REPORT, "a closed bar hears nothing"


def test_bar_in_a_pipe_writes_a_line_per_epoch(capsys: pytest.CaptureFixture[str]) -> None:
    trainer = Reporter()
    with ProgressBar(trainer) as bar:  # type: ignore[arg-type]
        trainer.progress.emit(REPORT)
        bar.refresh()
        assert capsys.readouterr().err == ""
        trainer.progress.emit(replace(REPORT, epoch=2, step=0))
        bar.refresh()
        bar.refresh()
    assert capsys.readouterr().err == f"epoch 2/10  {facts(REPORT)}\n"


def test_quiet_bar_writes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    trainer = Reporter()
    with ProgressBar(trainer, quiet=True) as bar:  # type: ignore[arg-type]
        trainer.compiling.emit(1, 2)
        trainer.said.emit("a word")
        trainer.progress.emit(replace(REPORT, epoch=2, step=0))
        bar.refresh()
    assert capsys.readouterr() == ("", "")
