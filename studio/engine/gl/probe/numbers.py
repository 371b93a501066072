"""Asks the device how it treats NaN, infinities, denormals, rounding, integers and functions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from studio.engine.gl.probe.runner import Finding, Verdict, json_number

if TYPE_CHECKING:
    from studio.engine.gl.probe.runner import ProbeRunner

Doubles = npt.NDArray[np.float64]

_TINY = 1e-40
_BIG = 80.0
# The product of two of these lies half-way between two floats, so that one rounding or two differ.
_FACTOR = 1.0 + 2.0**-12
_MINUS = -(1.0 + 2.0**-11)
_MULTIPLIER, _MULTIPLICAND, _BITS = 0xD2511F53, 0x9E3779B9, 0xFFFFFFFF


@dataclass(frozen=True, slots=True)
class Question:
    """One answer of ``special_values.glsl``.

    Attributes:
        name: what was asked.
        expected: tells whether the answer is NumPy's.
        otherwise: the verdict where it is not.
        note: what an answer other than NumPy's means.
    """

    name: str
    expected: Callable[[float], bool]
    otherwise: Verdict
    note: str


def _is_nan(value: float) -> bool:
    return bool(np.isnan(value))


def _equals(wanted: float) -> Callable[[float], bool]:
    return lambda value: value == wanted


_HIDES = "NaN is hidden here, so kernels test for it first"
_RELIED = "the kernels rely on this"
_YES = _equals(1.0)

NUMBER_QUESTIONS: tuple[Question, ...] = (
    Question("max(NaN, 0)", _is_nan, "known", _HIDES),
    Question("min(NaN, 0)", _is_nan, "known", _HIDES),
    Question("clamp(NaN, -1, 1)", _is_nan, "known", _HIDES),
    Question("NaN < 0 ? 0 : NaN", _is_nan, "known", _HIDES),
    # NumPy's where takes the second branch too, so 0 is the right answer.
    Question("NaN > 0 ? NaN : 0", _equals(0.0), "known", "comparisons are folded"),
    Question("isnan(NaN) ? NaN : max(NaN, 0)", _is_nan, "bad", _RELIED),
    Question("bit test before clamp keeps NaN", _is_nan, "bad", _RELIED),
    Question("isnan tells NaN from numbers", _YES, "known", "kernels test bits instead"),
    Question("isinf tells infinity from numbers", _YES, "known", "kernels test bits instead"),
    Question("bit test finds NaN and infinity", _YES, "bad", _RELIED),
    Question("tanh(NaN)", _is_nan, "known", _HIDES),
    Question("exp(NaN)", _is_nan, "known", _HIDES),
    Question("sqrt(NaN)", _is_nan, "known", _HIDES),
    Question("NaN * 0", _is_nan, "bad", _RELIED),
    Question("infinity - infinity", _is_nan, "known", "folded to 0 by the compiler"),
    Question("denormal stored", _equals(float(np.float32(_TINY))), "known", "flushed to 0"),
    Question("denormal * 1", _equals(float(np.float32(_TINY))), "known", "flushed to 0"),
    Question("a * b + c rounds twice", _equals(0.0), "known", "fused into one rounding"),
    Question("precise a * b + c rounds twice", _equals(0.0), "known", "fused even when precise"),
    Question("fma(a, b, c) rounds once", _equals(2.0**-24), "known", "computed in two steps"),
    Question("tanh(80)", _equals(1.0), "known", "overflows, so kernels limit the argument"),
    Question("exp(-infinity)", _equals(0.0), "bad", "soft-max relies on this"),
    Question("log(0)", _equals(float("-inf")), "known", "differs from NumPy"),
    Question("1 / 0", _equals(float("inf")), "known", "differs from NumPy"),
    Question("0 / 0", _is_nan, "known", "differs from NumPy"),
    Question("exp(80) is finite", lambda value: bool(np.isfinite(value)), "bad", _RELIED),
)


@dataclass(frozen=True, slots=True)
class IntegerQuestion:
    """One answer of ``integers.glsl``: name, the right 32 bits, the verdict and note otherwise."""

    name: str
    expected: int
    otherwise: Verdict = "bad"
    note: str = _RELIED


_PRODUCT = _MULTIPLIER * _MULTIPLICAND
_MASK = 0xFFFFFFFF
_NON_NEGATIVE = "kernels divide non-negative numbers only"

INTEGER_QUESTIONS: tuple[IntegerQuestion, ...] = (
    IntegerQuestion("7 / 2", 3),
    IntegerQuestion("7 % 2", 1),
    IntegerQuestion("-7 / 2 rounds to zero", -3 & _MASK, "known", _NON_NEGATIVE),
    IntegerQuestion("-7 % 2", -1 & _MASK, "known", _NON_NEGATIVE),
    IntegerQuestion("7 / 0 is 0", 0, "known", "undefined in GLSL, never relied on"),
    IntegerQuestion("64-bit product, high word", _PRODUCT >> 32),
    IntegerQuestion("64-bit product, low word", _PRODUCT & _MASK),
    IntegerQuestion("32-bit product wraps", _PRODUCT & _MASK),
    IntegerQuestion(
        "(bits >> 8) * 2^-24 is exact",
        int(np.float32((_BITS >> 8) * 2.0**-24).view(np.uint32)),
    ),
    IntegerQuestion("shifts and exclusive or", (_MULTIPLIER << 13 & _MASK) ^ (_MULTIPLICAND >> 7)),
)


@dataclass(frozen=True, slots=True)
class FunctionCheck:
    """One row of ``functions.glsl``.

    Attributes:
        name: function and range.
        inputs: what it is asked for, rounded to float32 on the way.
        reference: the true function.
        bearable: the error kernels can bear.
        absolute: measure against max(1, |y|), for functions that pass through 0.
    """

    name: str
    inputs: Doubles
    reference: Callable[[Doubles], Doubles]
    bearable: float
    absolute: bool = False


SIZE = 4096
FUNCTION_CHECKS: tuple[FunctionCheck, ...] = (
    FunctionCheck("exp on -20 … 20", np.linspace(-20, 20, SIZE), np.exp, 1e-5),
    FunctionCheck("log on 1e-6 … 1e6", np.geomspace(1e-6, 1e6, SIZE), np.log, 1e-5, absolute=True),
    FunctionCheck("tanh on -10 … 10", np.linspace(-10, 10, SIZE), np.tanh, 1e-5, absolute=True),
    FunctionCheck("sqrt on 1e-6 … 1e6", np.geomspace(1e-6, 1e6, SIZE), np.sqrt, 1e-6),
    FunctionCheck("1 / x on 1e-6 … 1e6", np.geomspace(1e-6, 1e6, SIZE), lambda x: 1 / x, 1e-6),
    FunctionCheck("sin on -pi … pi", np.linspace(-np.pi, np.pi, SIZE), np.sin, 1e-5, absolute=True),
    FunctionCheck("x^1.7 on 0.001 … 10", np.geomspace(1e-3, 10, SIZE), lambda x: x**1.7, 1e-4),
)


def ask_numbers(runner: ProbeRunner) -> list[Finding]:
    """How the device treats special values; on the engine thread."""
    inputs = np.array(
        [np.nan, np.inf, 0.0, _TINY, 1.0, _BIG, _FACTOR, _FACTOR, _MINUS], dtype=np.float32
    )
    words = runner.evaluate("special_values", inputs, len(NUMBER_QUESTIONS))
    answers = words.view(np.float32).astype(np.float64)
    return [judge_number(*pair) for pair in zip(NUMBER_QUESTIONS, answers, strict=True)]


def judge_number(question: Question, answer: float) -> Finding:
    """What an answer means."""
    right = question.expected(answer)
    return Finding(
        "numbers",
        question.name,
        json_number(float(answer)),
        verdict="ok" if right else question.otherwise,
        note="" if right else question.note,
    )


def ask_integers(runner: ProbeRunner) -> list[Finding]:
    """How the device divides, wraps and converts integers; on the engine thread."""
    inputs = np.array([7, 2, 0, _MULTIPLIER, _MULTIPLICAND, _BITS], dtype=np.uint32)
    words = runner.evaluate("integers", inputs, len(INTEGER_QUESTIONS))
    return [
        Finding(
            "integers",
            question.name,
            int(word),
            verdict="ok" if int(word) == question.expected else question.otherwise,
            note="" if int(word) == question.expected else question.note,
        )
        for question, word in zip(INTEGER_QUESTIONS, words, strict=True)
    ]


def ask_functions(runner: ProbeRunner) -> list[Finding]:
    """The largest error of each function against float64; on the engine thread."""
    inputs = np.stack([check.inputs for check in FUNCTION_CHECKS]).astype(np.float32)
    words = runner.evaluate("functions", inputs, inputs.size, SIZE // 64)
    answers = words.view(np.float32).reshape(inputs.shape).astype(np.float64)
    findings = []
    for check, given, answer in zip(FUNCTION_CHECKS, inputs, answers, strict=True):
        # The reference takes the float32 inputs the device had.
        true = check.reference(given.astype(np.float64))
        scale = np.maximum(1.0, np.abs(true)) if check.absolute else np.abs(true)
        error = float(np.max(np.abs(answer - true) / scale))
        findings.append(
            Finding(
                "functions",
                check.name,
                json_number(error),
                "largest error relative to max(1, |y|)"
                if check.absolute
                else "largest relative error",
                "ok" if error <= check.bearable else "bad",
                "" if error <= check.bearable else f"more than {check.bearable:g}",
            )
        )
    return findings
