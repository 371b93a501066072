from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

import numpy as np
import pytest

from studio.engine.gl.probe.numbers import (
    INTEGER_QUESTIONS,
    NUMBER_QUESTIONS,
    judge_number,
)
from studio.engine.gl.probe.runner import json_number
from studio.engine.gl.probe.selftest import run_selftest

if TYPE_CHECKING:
    from studio.engine.gl.device.engine_thread import EngineThread
    from studio.engine.gl.probe.selftest import SelfTest


@pytest.fixture(scope="module")
def report(engine: EngineThread) -> SelfTest:
    return run_selftest(engine)


@pytest.mark.slow
@pytest.mark.gl
def test_device_holds_what_the_kernels_rely_on(report: SelfTest) -> None:
    bad = [finding for finding in report.findings if finding.verdict == "bad"]
    assert not bad
    assert report.sound


@pytest.mark.slow
@pytest.mark.gl
def test_every_question_is_answered_once(report: SelfTest) -> None:
    names = [finding.name for finding in report.findings]
    assert len(names) == len(set(names))
    groups = [finding.group for finding in report.findings]
    assert groups.count("numbers") == len(NUMBER_QUESTIONS) == 26
    assert groups.count("integers") == len(INTEGER_QUESTIONS) == 10
    assert groups.count("functions") == 7
    assert groups.count("speed") == 7
    assert groups.count("driver") == 2


@pytest.mark.gl
@pytest.mark.slow
def test_speeds_are_positive_and_choose_a_family(report: SelfTest) -> None:
    speeds = {f.name: f.value for f in report.findings if f.group == "speed"}
    assert all(isinstance(value, float) and value > 0 for value in speeds.values())
    shared, register = (value for name, value in speeds.items() if "matrix product" in name)
    assert report.faster_family == ("shared tiles" if shared >= register else "register tiles")


@pytest.mark.gl
def test_report_is_strict_json(report: SelfTest) -> None:
    data = json.loads(json.dumps(report.to_json(), allow_nan=False))
    assert data["device"]["renderer"] == report.device.renderer
    assert len(data["findings"]) == len(report.findings)
    assert {finding["verdict"] for finding in data["findings"]} <= {"ok", "known", "bad"}


@pytest.mark.gl
def test_progress_counts_the_parts(engine: EngineThread, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[int, int, str]] = []
    monkeypatch.setattr("studio.engine.gl.probe.selftest._PARTS", ())
    run_selftest(engine, lambda *news: told.append(news))
    assert told == [(0, 0, "")]


def test_numpy_itself_passes_every_question() -> None:
    """The expectations are NumPy's: its own answers must all be judged ok."""
    nan, inf, zero, one = (np.float32(value) for value in (np.nan, np.inf, 0, 1))
    tiny, big = np.float32(1e-40), np.float32(80)
    a = np.float32(1 + 2**-12)
    c = np.float32(-(1 + 2**-11))
    with np.errstate(all="ignore"):
        fused = float(np.float64(a) * np.float64(a) + np.float64(c))
        answers = [
            *(np.maximum(nan, zero), np.minimum(nan, zero), np.clip(nan, -one, one)),
            *(np.where(nan < 0, zero, nan), np.where(nan > 0, nan, zero)),
            *(np.maximum(nan, zero), np.clip(nan, -15, 15), 1, 1, 1),
            *(np.tanh(nan), np.exp(nan), np.sqrt(nan), nan * zero, inf - inf),
            *(tiny, tiny * one, a * a + c, a * a + c, fused, np.tanh(big), np.exp(-inf)),
            *(np.log(zero), one / zero, zero / zero, np.exp(big)),
        ]
    found = [judge_number(q, float(v)) for q, v in zip(NUMBER_QUESTIONS, answers, strict=True)]
    assert [one.name for one in found if one.verdict != "ok"] == []


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_values_json_lacks_are_written_by_name(value: float) -> None:
    assert json_number(value) == str(value)
    assert json_number(1.5) == 1.5


def test_hidden_nan_is_known_and_broken_bit_test_is_bad() -> None:
    by_name = {question.name: question for question in NUMBER_QUESTIONS}
    assert judge_number(by_name["max(NaN, 0)"], 0.0).verdict == "known"
    assert judge_number(by_name["bit test finds NaN and infinity"], 0.0).verdict == "bad"


def test_expected_integers_are_those_of_numpy() -> None:
    with np.errstate(all="ignore"):
        m, n = np.uint64(0xD2511F53), np.uint64(0x9E3779B9)
        product = int(m * n)
        wanted = {
            "7 / 2": 7 // 2,
            "7 % 2": 7 % 2,
            "64-bit product, high word": product >> 32,
            "64-bit product, low word": product & 0xFFFFFFFF,
            "32-bit product wraps": int(np.uint32(0xD2511F53) * np.uint32(0x9E3779B9)),
            "shifts and exclusive or": int(
                (np.uint32(0xD2511F53) << np.uint32(13)) ^ (np.uint32(0x9E3779B9) >> np.uint32(7))
            ),
        }
    expected = {question.name: question.expected for question in INTEGER_QUESTIONS}
    assert {name: expected[name] for name in wanted} == wanted
