"""Formulas as NumPy calls and as compiled loops."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from studio.engine.core.dtypes import DType
from studio.engine.core.errors import BackendError
from studio.engine.cpu.backend import CpuBackend
from studio.engine.cpu.elementwise.graph import build_graph
from studio.engine.cpu.elementwise.steps import DTYPES, Cell, plan_steps
from studio.engine.cpu.machine.execution_config import NUMPY_ONLY
from studio.engine.cpu.machine.toolchain import has_compiler
from studio.engine.cpu.plan import binding
from studio.engine.cpu.plan.bound_steps import Bound, Known, Memory, cells_of, in_one, row_of
from studio.engine.formula.constants import with_values
from studio.engine.formula.kinds import Kind
from studio.engine.formula.parse import parse_formula
from studio.engine.formula.tree import Assign
from studio.engine.isa.families import Unary
from studio.engine.isa.fields import Access, number
from studio.engine.isa.instruction import GradInstruction, Instruction, all_instructions
from studio.engine.isa.meaning import Activation
from studio.engine.isa.ops.data import StepWord
from studio.engine.layers.activation_catalog import FUNCTIONS, parse_activation
from tests.engine.conformance.case import Case, Given
from tests.engine.conformance.harness import build, gradients, results, target_names
from tests.engine.conformance.stated import kinds_of
from tests.engine.registered import registered_meanwhile

SPECIAL = np.array(
    [0, -0.0, 1, -1, 0.5, 3, -3, 6, 1e-40, -1e-40, 1e30, -1e30, 88, -104, np.inf, -np.inf, np.nan],
    np.float32,
)
SHAPE = (7, 613)


def values(seed: int, shape: tuple[int, ...] = SHAPE) -> np.ndarray:
    """Random numbers, with every pair of special ones at the same place of two operands."""
    found = np.random.default_rng(seed).normal(0, 3, shape).astype(np.float32)
    pairs = np.array(np.meshgrid(SPECIAL, SPECIAL)).reshape(2, -1)[seed % 2]
    found.reshape(-1)[: len(pairs)] = pairs
    return found


def computed(
    text: str, arrays: dict[str, np.ndarray], target: np.ndarray, in_place: tuple[str, ...] = ()
) -> tuple[int, int]:
    """Runs a formula into ``target``; gives how many working memories it took."""
    formula = with_values(parse_formula(text), {})
    kinds = {
        name: Kind.BOOL if a.dtype == bool else Kind.INT if a.dtype.kind in "iu" else Kind.FLOAT
        for name, a in arrays.items()
    }
    stored = frozenset(np.dtype(t) for t in DTYPES.values())
    graph = build_graph(
        (*formula.lines, Assign("to", formula.value)), ("to",), kinds,
        narrow=frozenset(n for n, a in arrays.items() if a.dtype not in stored),
    )  # fmt: skip
    kind = next((k for k, t in DTYPES.items() if target.dtype == t), None)
    plan = plan_steps(graph, {"to": kind}, {"to": frozenset(in_place)})
    memory = Memory(
        {**arrays, "to": target},
        [np.full(target.shape, np.nan, np.float32) for _ in range(plan.words)],
        [np.ones(target.shape, bool) for _ in range(plan.masks)],
        cells_of(plan.cells, Known({}, {}, {}), []),
    )
    with np.errstate(all="ignore"):
        for function, given, named in [memory.bound(step) for step in plan.steps]:
            function(*given, **named)
    return plan.words, plan.masks


def random_text(rng: np.random.Generator, depth: int) -> str:
    if depth == 0:
        return str(rng.choice(["x", "z", "0.3", "x", "z"]))
    a, b = (random_text(rng, depth - 1) for _ in range(2))
    forms = [f"({a} + {b})", f"({a} - {b})", f"({a} * {b})", f"max({a}, {b})", f"abs({a})", f"-{a}"]
    return str(rng.choice([*forms, f"({a} if {b} > x else {b})", f"(0 if x < {a} else {b})"]))


def meant(text: str, x: np.ndarray, z: np.ndarray) -> np.ndarray:
    """The same by Python's own reading, branches chosen at the end."""

    def walk(node: object) -> np.ndarray:
        import ast

        match node:
            case ast.Expression(body):
                return walk(body)
            case ast.Name(id=name):
                return x if name == "x" else z
            case ast.Constant(value=value):
                return np.float32(value)
            case ast.UnaryOp(op=ast.USub(), operand=a):
                return -walk(a)
            case ast.BinOp(left=a, op=ast.Add(), right=b):
                return walk(a) + walk(b)
            case ast.BinOp(left=a, op=ast.Sub(), right=b):
                return walk(a) - walk(b)
            case ast.BinOp(left=a, op=ast.Mult(), right=b):
                return walk(a) * walk(b)
            case ast.Call(func=ast.Name(id="max"), args=[a, b]):
                return np.maximum(walk(a), walk(b))
            case ast.Call(args=[a]):
                return np.abs(walk(a))
            case ast.IfExp(test=ast.Compare(left=a, ops=[ast.Gt()], comparators=[b]),
                           body=c, orelse=d):  # fmt: skip
                return np.where(walk(a) > walk(b), walk(c), walk(d))
            case ast.IfExp(test=ast.Compare(left=a, comparators=[b]), body=c, orelse=d):
                return np.where(walk(a) < walk(b), walk(c), walk(d))
        raise AssertionError(ast.dump(node))

    import ast

    with np.errstate(all="ignore"):
        return np.broadcast_to(walk(ast.parse(text, mode="eval")), x.shape).astype(np.float32)


@pytest.mark.parametrize("seed", range(60))
def test_results_may_lie_where_an_operand_does(seed: int) -> None:
    rng = np.random.default_rng(seed)
    text = random_text(rng, 3)
    for where in ("apart", "x", "z"):
        arrays = {"x": values(0, (400,)), "z": values(1, (400,))}
        wanted = meant(text, arrays["x"].copy(), arrays["z"].copy())
        target = np.empty(400, np.float32) if where == "apart" else arrays[where]
        computed(text, arrays, target, () if where == "apart" else (where,))
        np.testing.assert_array_equal(target, wanted, err_msg=f"{text} into {where}")


@pytest.mark.parametrize(
    ("text", "words", "masks"),
    [
        ("x + 1", 0, 0), ("x / (1 + abs(x))", 0, 0), ("sigmoid(x)", 1, 1),
        ("softplus(x)", 1, 0), ("x if x > 0 else 0", 0, 1), ("x * x * x + x * x", 1, 0),
        ("tanh(softplus(x))", 1, 0), ("normal_cdf(x)", 1, 1),
    ],
)  # fmt: skip
def test_little_working_memory_is_taken(text: str, words: int, masks: int) -> None:
    arrays = {"x": values(0)}
    assert computed(text, arrays, np.empty(SHAPE, np.float32)) == (words, masks)


def test_whole_numbers_stay_whole_and_wrap() -> None:
    whole = np.array([2**31 - 1, -(2**31), 7, -7], np.int32)
    target = np.empty(4, np.int32)
    computed("x + 1", {"x": whole}, target)
    np.testing.assert_array_equal(target, [-(2**31), -(2**31) + 1, 8, -6])
    computed("x if x > 3 else -x", {"x": whole}, target)
    np.testing.assert_array_equal(target, [2**31 - 1, -(2**31), 7, 7])
    byte = np.array([0, 200, 255, 3], np.uint8)
    computed("x * 2", {"x": byte}, target)
    np.testing.assert_array_equal(target, [0, 400, 510, 6])
    with pytest.raises(BackendError, match="a float and a whole number meet"):
        computed("x * 0.5", {"x": whole}, target)
    with pytest.raises(BackendError, match="exp takes floats"):
        computed("exp(x)", {"x": whole}, target)
    floats = np.empty(4, np.float32)
    computed("float(x) * 0.5", {"x": byte}, floats)
    np.testing.assert_array_equal(floats, [0, 100, 127.5, 1.5])


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("float(i) + x", Kind.FLOAT),
        ("(float(i) if i > 2 else 0.5) * x", Kind.FLOAT),
        ("i * 2 + k", Kind.INT),
        ("(i if i > 2 else 1) + k", Kind.INT),
        ("int(f) + k", Kind.INT),
    ],
)
def test_what_is_the_same_for_all_elements_has_the_kind_it_is_cast_to(
    text: str, kind: Kind
) -> None:
    kinds = {"i": Kind.INT, "f": Kind.FLOAT, "x": Kind.FLOAT, "k": Kind.INT}
    graph = build_graph(
        (Assign("to", parse_formula(text).value),), ("to",), kinds, uniform=frozenset("if")
    )
    assert graph.results[0][1].kind is kind


def test_halves_are_computed_as_float32() -> None:
    with np.errstate(all="ignore"):
        x = values(0, (300,)).astype(np.float16)
    target = np.empty(300, np.float16)
    computed("(x + 2048) - 2048", {"x": x}, target)
    wide = x.astype(np.float32)
    with np.errstate(all="ignore"):
        wanted = ((wide + 2048) - 2048).astype(np.float16)
    np.testing.assert_array_equal(target, wanted)


@pytest.mark.parametrize("count", [1, 2, 64, 65])
def test_calls_are_made_in_order_with_their_arguments(count: int) -> None:
    made: list[tuple[object, ...]] = []

    def heard(*given: object, **named: object) -> None:
        made.append((given, named))

    forms = [((), {}), ((1,), {}), ((1, 2), {"out": 3}), ((), {"out": 4})]
    wanted = [forms[(i + count) % len(forms)] for i in range(count)]
    run = in_one([(heard, given, named) for given, named in wanted])
    run()
    run()
    assert made == 2 * wanted


def test_numbers_of_a_loop_follow_the_rate_and_the_count() -> None:
    rates, step = np.array([0.5, 0.25], np.float32), np.zeros(8, np.int32)
    single = np.array(3.0, np.float32)
    texts = {"lr / (1 - beta)": Kind.FLOAT, "t * lr": Kind.FLOAT, "beta + 1": Kind.FLOAT,
             "norm > t": Kind.BOOL}  # fmt: skip
    cells = [Cell(parse_formula(text).value, kind) for text, kind in texts.items()]
    known = Known({"beta": 0.5}, {"norm": single}, {"rates": rates, "step": step})
    before: list[Bound] = []
    (row,) = row_of(cells, known, before)
    for done in range(5):
        step[StepWord.STEP], step[StepWord.UPDATES] = done, done + 1
        in_one(before)()
        rate = rates[done % 2]
        assert row.tolist() == [rate / 0.5, (done + 1) * rate, 1.5, done + 1 < 3]
    assert row_of([], known, before) == []


@pytest.mark.parametrize("numpy_alone", [True, False])
def test_zeros_of_either_sign_are_kept_apart(numpy_alone: bool) -> None:
    x = Given((5000,), lambda rng, shape: np.full(shape, -0.0, np.float32))
    backend = CpuBackend(config=NUMPY_ONLY if numpy_alone else None)
    for beta in (0.0, -0.0, 0.0):
        y = results(backend, Case("ADD_SCALAR", "zero", {"x": x}, {"beta": beta}))["y"]
        assert np.signbit(y).all() == np.signbit(np.float32(beta))
    backend.close()


@pytest.fixture
def cubed() -> Iterator[type[Instruction]]:
    """An element-wise instruction that one class declares; gone again behind the test."""

    with registered_meanwhile():

        class SoftCube(Unary, code=990, mnemonic="SOFT_CUBE", category="function"):
            """Cube, linear far out."""

            synopsis = "{y} = soft_cube({x}, {edge})"
            formula = "x * x**2 if abs(x) <= edge else sign(x) * edge * edge**2 + x"
            slopes = {"x": "dy * (3 * x**2) if abs(x) <= edge else dy"}
            functions = {"soft_cube": Activation("x³, linear far out.", {"edge": 1.5})}
            edge = number("Where the cube ends.", 2.0)

        yield SoftCube


@pytest.mark.parametrize("numpy_alone", [True, False])
def test_an_instruction_is_one_class(cubed: type[Instruction], numpy_alone: bool) -> None:
    x = np.random.default_rng(1).uniform(-4, 4, SHAPE).astype(np.float32)
    given = Given(SHAPE, lambda rng, shape: x)
    backend = CpuBackend(config=NUMPY_ONLY if numpy_alone else None)
    try:
        case = Case("SOFT_CUBE", "one", {"x": given}, {"edge": 1.5})
        wide = x.astype(np.float64)
        inside = np.abs(wide) <= 1.5
        wanted = np.where(inside, wide**3, np.sign(wide) * 1.5**3 + wide)
        np.testing.assert_allclose(results(backend, case)["y"], wanted, rtol=1e-6)
        slope = np.random.default_rng(2).uniform(-1, 1, SHAPE).astype(np.float32)
        (found,) = gradients(backend, case, slope, {"x": [np.ones(SHAPE)]})["x"]
        np.testing.assert_allclose(found, 1 + slope * np.where(inside, 3 * wide**2, 1), atol=1e-6)
    finally:
        backend.close()


def test_an_instruction_names_the_activation_it_is(cubed: type[Instruction]) -> None:
    assert parse_activation("soft_cube") == "soft_cube"
    assert FUNCTIONS["soft_cube"].cls is cubed
    assert list(FUNCTIONS)[-1] == "soft_cube"


QUICK = {"RELU", "CLIPPED_RELU", "THRESHOLDED_RELU", "SOFTSIGN", "MAXIMUM"}
LOOPED = [
    c
    for c in all_instructions()
    if c.meaning and c.meaning.value and not issubclass(c, GradInstruction)
]


def operand(name: str, place: int, kind: Kind) -> Given:
    """Numbers of a kind for an operand, others at each place."""
    if name == "norm":
        return Given((), lambda rng, shape: np.float32(7.3))
    if kind is Kind.BOOL:
        return Given(SHAPE, lambda rng, shape: values(place, shape) > 0, DType.bool)
    if kind is Kind.INT:
        return Given(
            SHAPE, lambda rng, shape: rng.integers(-(1 << 31), 1 << 31, shape), DType.int32
        )
    return Given(SHAPE, lambda rng, shape: values(place, shape))


@pytest.mark.skipif(not has_compiler(), reason="there is no Numba here")
@pytest.mark.parametrize(
    "cls",
    [
        pytest.param(c, marks=() if c.mnemonic in QUICK else pytest.mark.slow, id=c.mnemonic)
        for c in LOOPED
        if c.elementwise
    ],
)
def test_loops_give_the_bits_of_numpy(
    cls: type[Instruction], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(binding, "LOOP_FROM", 0)
    names = [f.name for f in cls.operand_fields if f.access is not Access.WRITE]
    kinds = kinds_of(cls) or kinds_of(cls, whole=True) or dict.fromkeys(names, Kind.BOOL)
    operands = {name: operand(name, place, kinds[name]) for place, name in enumerate(names)}
    attrs = {"dtype": "float16"} if cls.mnemonic == "CAST" else {}
    case = Case(cls.mnemonic, "bits", operands, attrs)
    found = []
    for config in (None, NUMPY_ONLY):
        backend = CpuBackend(config=config)
        made = dict(results(backend, case))
        if cls.grad_class is not None:
            names = target_names(build(case))
            before = {name: [np.full(SHAPE, 1.25, np.float32)] for name in names}
            for set_ in ((), names):
                slopes = gradients(backend, case, values(3), before, set_=set_)
                made |= {f"{name} {set_}": arrays[0] for name, arrays in slopes.items()}
        found.append(made)
        backend.close()
    for name, array in found[0].items():
        np.testing.assert_array_equal(array, found[1][name], err_msg=name)
        same = np.isnan(array) | (np.signbit(array) == np.signbit(found[1][name]))
        assert same.all(), f"{name}: the sign of a zero"
