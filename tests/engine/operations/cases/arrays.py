"""Along dimensions: reductions, products, moves, creation, look-ups and signals."""

from __future__ import annotations

from functools import partial

import numpy as np

from tests.engine.operations.cases.case import Case

T = (2, 3, 4)
WHOLE = np.array([[-7, 3, 0], [5, -2, 9]], np.int32)
TRUE = np.array([[True, False, True], [False, False, True]])
APART = {"apart": 0.31}
same = partial(Case, gradients=False)


def apart_in_batch(x):
    return np.concatenate([x[:, i::2, j::3] for i in range(2) for j in range(3)])


def from_batch(x):
    found = np.zeros((2, 4, 6, x.shape[-1]))
    for k, part in enumerate(x.reshape(6, 2, 2, 2, -1)):
        found[:, k // 3 :: 2, k % 3 :: 3] = part
    return found


def exchanged(x):
    return x.transpose(0, 1, 3, 2, 4, 5)


def norm(x, order, axis):
    return (abs(x) ** order).sum(axis) ** (1 / order)


REDUCTIONS = [
    Case("sum", (T,)),
    Case("sum", (T,), {"axis": (0, -1)}),
    Case("sum", (T,), {"axis": 1, "keepdims": True}, batch=True),
    same("sum", (TRUE,), {"axis": 1}),
    same("sum", (WHOLE,), {"axis": 0}),
    Case("mean", (T,), {"axis": -1}),
    same("mean", (WHOLE,)),
    Case("max", (T,), {"axis": 1}, **APART),
    Case("min", (T,), {"axis": (0, 2), "keepdims": True}, **APART),
    same("max", (WHOLE,)),
    Case("prod", (T,), {"axis": 1}),
    Case("peak_to_peak", (T,), {"axis": 1}, **APART),
    Case("var", (T,), {"axis": (0, 1), "ddof": 1}),
    Case("var", (T,), {"axis": 2}, batch=True),
    Case("std", (T,), {"axis": 1, "keepdims": True}),
    Case("moments", (T,), {"axis": 0}, ref=lambda x: (x.mean(0), x.var(0))),
    Case("logsumexp", (T,), {"axis": 1}, ref=lambda x: np.log(np.exp(x).sum(1))),
    Case("logsumexp", ((3, 4),), {"axis": 1, "keepdims": True}, batch=True,
         ref=lambda x: np.log(np.exp(x).sum(1, keepdims=True))),
    same("logsumexp", (np.array([[90.0, 91.0], [-200.0, -201.0]], np.float32),), {"axis": 1},
         ref=lambda x: np.logaddexp(x[:, 0], x[:, 1])),
    Case("log_sum", (T,), {"axis": 2}, ref=lambda x: np.log(x.sum(2)), low=0.2),
    Case("sum_of_squares", (T,), {"axis": 1}, ref=lambda x: (x * x).sum(1)),
    Case("sum_of_sizes", (T,), {"axis": 1}, ref=lambda x: abs(x).sum(1), **APART),
    Case("norm", (T,), {"axis": 1}, ref=lambda x: norm(x, 2, 1)),
    Case("norm", (T,), {"axis": 1, "order": 1.0}, ref=lambda x: norm(x, 1, 1), **APART),
    Case("norm", (T,), {"axis": 2, "order": 3.0}, ref=lambda x: norm(x, 3, 2), **APART),
    Case("norm", (T,), {"axis": 2, "order": 0.0}, ref=lambda x: abs(x).max(2), **APART),
    Case("normalize", (T,), {"axis": 1}, ref=lambda x: x / np.sqrt((x * x).sum(1, keepdims=True))),
    Case("standardize", (T,),
         ref=lambda x: (x - x.mean(-1, keepdims=True)) / x.std(-1, keepdims=True)),
    same("count_nonzero", (WHOLE,), {"axis": 0}),
    same("argmax", (T,), {"axis": 1}),
    same("argmax", (T,)),
    same("argmax", (WHOLE,), {"axis": 1, "keepdims": True}),
    same("argmin", (T,), {"axis": 0}),
    same("argmin", (T,), {"axis": -1}, batch=True),
]  # fmt: skip

PRODUCTS = [
    Case("matmul", ((3, 4), (4, 2))),
    Case("matmul", ((4,), (4, 2))),
    Case("matmul", ((2, 3, 4), (4,))),
    Case("matmul", ((4,), (4,))),
    Case("matmul", ((2, 1, 3, 4), (5, 4, 2)), ref=np.matmul, gradients=False),
    Case("matmul", ((4, 3), (2, 4)), {"transpose_a": True, "transpose_b": True},
         ref=lambda a, b: a.T @ b.T),
    Case("dot", ((2, 3, 4), (4, 2))),
    Case("dot", ((3,), (3,))),
    Case("dot", ((2, 3), ())),
    Case("vecdot", ((3, 4), (4,)), ref=lambda a, b: (a * b).sum(-1)),
    Case("inner", ((2, 3), (4, 3))),
    Case("outer", ((3,), (2, 2))),
    Case("tensordot", ((2, 3, 4), (4, 3, 2)), {"axes_a": (1, 2), "axes_b": (1, 0)},
         ref=lambda a, b: np.tensordot(a, b, ((1, 2), (1, 0)))),
    Case("tensordot", ((2, 3, 4), (4, 5)), ref=lambda a, b: np.tensordot(a, b, 1), batch=True),
    *(Case("einsum", shapes, {"equation": text},
         ref=partial(np.einsum, text)) for text, *shapes in (
        ("ij,jk->ik", (2, 3), (3, 4)), ("ij->ji", (2, 3)), ("bij,bkj->bik", (2, 3, 4), (2, 2, 4)),
        ("ijk,k->ij", (2, 3, 4), (4,)), ("i,j->ij", (2,), (3,)), ("ij,ij->", (2, 3), (2, 3)),
        ("ij,jk,kl->il", (2, 3), (3, 4), (4, 2)), ("ba,cb", (2, 3), (4, 2)), ("abc->ca", (2, 3, 4)),
    )),
]  # fmt: skip
PRODUCTS = [Case(**{**vars(c), "operands": tuple(c.operands)}) for c in PRODUCTS]

MOVES = [
    Case("reshape", (T,), {"shape": (4, -1)}, ref=lambda x: x.reshape(4, -1)),
    Case("reshape", (T,), {"shape": (-1, 12)}, ref=lambda x: x.reshape(-1, 12), batch=True),
    Case("ravel", (T,)),
    Case("flatten", (T,), ref=lambda x: x.reshape(2, -1)),
    Case("transpose", (T,)),
    Case("transpose", (T,), {"axes": (0, 2, 1)}, batch=True),
    Case("swapaxes", (T,), {"axis1": 0, "axis2": 2}, ref=lambda x: x.swapaxes(0, 2)),
    Case("moveaxis", (T,), {"source": 0, "destination": 1}),
    Case("expand_dims", (T,), {"axis": -1}),
    Case("squeeze", ((1, 3, 1, 2),)),
    Case("squeeze", ((1, 3, 1, 2),), {"axis": 2}),
    Case("broadcast_to", ((3, 1),), {"shape": (2, -1, 4)}, ref=lambda x: np.broadcast_to(x, T)),
    Case("concatenate", (T, (2, 2, 4)), {"axis": 1}, ref=lambda *xs: np.concatenate(xs, 1)),
    Case("concatenate", (WHOLE, (2, 1)), ref=lambda *xs: np.concatenate(xs, -1)),
    Case("stack", ((2, 3), (2, 3)), {"axis": -1}, ref=lambda *xs: np.stack(xs, -1)),
    Case("unstack", (T,), {"axis": 1}, ref=lambda x: list(np.moveaxis(x, 1, 0))),
    Case("split", (T,), {"parts": 2}, ref=lambda x: np.split(x, 2, -1)),
    Case("split", (T,), {"sizes": (1, -1), "axis": 1}, ref=lambda x: np.split(x, [1], 1)),
    Case("slice", (T,), {"begin": (0, 1), "size": (-1, 2)}, ref=lambda x: x[:, 1:3]),
    Case("slice", (T,), {"begin": (1, 0, 1)}, ref=lambda x: x[1:, :, 1:]),
    Case("strided_slice", ((5, 6),), {"begin": (4, 1), "end": (0, 6), "steps": (-2, 3)},
         ref=lambda x: x[4:0:-2, 1:6:3]),
    Case("strided_slice", (T,), {"begin": (0, -2), "end": (-1, 3)}, ref=lambda x: x[:, -2:3],
         batch=True),
    Case("crop", ((4, 5),), {"amounts": ((1, 0), (1, 2))}, ref=lambda x: x[1:, 1:3]),
    Case("pad", ((2, 3),), {"pads": ((1, 0), (0, 2)), "value": 1.5},
         ref=lambda x: np.pad(x, ((1, 0), (0, 2)), constant_values=1.5)),
    Case("pad", ((2, 3),), {"pads": ((0, 1), (2, 0)), "mode": "edge"},
         ref=lambda x: np.pad(x, ((0, 1), (2, 0)), "edge")),
    Case("mirror_pad", ((3, 3),), {"pads": ((1, 1), (2, 0))},
         ref=lambda x: np.pad(x, ((1, 1), (2, 0)), "reflect")),
    Case("tile", ((2, 3),), {"repeats": (2, 1, 3)}, ref=lambda x: np.tile(x, (2, 1, 3))),
    Case("tile", ((1, 2, 1, 2, 1, 2),), {"repeats": (1, 2, 1, 1, 1, 2)},
         ref=lambda x: np.tile(x, (1, 2, 1, 1, 1, 2))),
    Case("repeat", ((2, 3),), {"repeats": 2, "axis": 1}, ref=lambda x: x.repeat(2, 1)),
    Case("repeat", ((2, 3),), {"repeats": 3}, ref=lambda x: x.repeat(3)),
    Case("roll", (T,), {"shift": -1, "axis": 1}),
    same("cast", (np.array([-1.7, 2.9], np.float32),), {"dtype": "int32"},
         ref=lambda x: np.trunc(x).astype(int)),
    Case("copy", (T,)),
    Case("space_to_depth", ((1, 4, 2, 3),),
         ref=lambda x: exchanged(x.reshape(1, 2, 2, 1, 2, 3)).reshape(1, 2, 1, 12)),
    Case("depth_to_space", ((1, 2, 1, 12),),
         ref=lambda x: exchanged(x.reshape(1, 2, 1, 2, 2, 3)).reshape(1, 4, 2, 3)),
    Case("space_to_batch", ((2, 4, 6, 3),), {"block": (2, 3)}, ref=apart_in_batch),
    Case("space_to_batch", ((2, 3, 5, 3),), {"block": (2, 3), "pads": ((1, 0), (0, 1))},
         ref=lambda x: apart_in_batch(np.pad(x, ((0, 0), (1, 0), (0, 1), (0, 0))))),
    Case("space_to_batch", ((1, 4, 2, 2, 3, 2),), {"block": (2, 1, 2)},
         ref=lambda x: np.concatenate([x[:, i::2, :, j::2] for i in (0, 1) for j in (0, 1)])),
    Case("batch_to_space", ((12, 2, 2, 3),), {"block": (2, 3)}, ref=from_batch),
    Case("batch_to_space", ((12, 2, 2),), {"block": (2, 3), "crops": ((1, 0), (0, 2))},
         ref=lambda x: from_batch(x[..., None])[:, 1:, :-2, 0]),
]  # fmt: skip

CREATION = [
    same("zeros", (), {"shape": (2, 3)}),
    same("ones", (), {"shape": (2,), "dtype": "int32"}),
    same("full", (), {"shape": (2, 2), "value": 0.1}, ref=lambda: np.full((2, 2), 0.1)),
    same("zeros_like", (WHOLE,)),
    same("ones_like", (T,), batch=True),
    same("full_like", (TRUE,), {"value": 1.0}, ref=lambda x: np.full_like(x, True)),
    same("arange", (), {"start": 2.0, "stop": -3.0, "step": -1.5},
         ref=lambda: np.arange(2, -3, -1.5)),
    same("arange", (), {"start": 5.0, "stop": -2.0, "step": -2.0},
         ref=lambda: np.arange(5, -2, -2.0)),
    same("arange", (), {"stop": 4.0, "dtype": "int32"}, ref=lambda: np.arange(4)),
    same("linspace", (), {"start": -1.0, "stop": 2.0, "count": 5},
         ref=lambda: np.linspace(-1, 2, 5)),
    same("logspace", (), {"stop": 2.0, "count": 4}, ref=lambda: np.logspace(0, 2, 4)),
    same("eye", (), {"rows": 3, "columns": 4, "diagonal": 1}, ref=lambda: np.eye(3, 4, 1)),
    same("identity", (), {"size": 3}, ref=lambda: np.eye(3)),
    same("tri", (), {"rows": 3, "diagonal": -1}, ref=lambda: np.tri(3, k=-1)),
    Case("tril", ((2, 3, 4),), {"diagonal": 1}, ref=lambda x: np.tril(x, 1)),
    Case("triu", ((3, 4),), ref=np.triu),
    same("triu", (WHOLE,), {"diagonal": 1}, ref=lambda x: np.triu(x, 1)),
    Case("diag", ((3,),)),
    Case("diagonal", ((2, 3, 4),), ref=lambda x: np.diagonal(x, 0, -2, -1)),
    Case("diagonal", ((4, 3),)),
    Case("trace", ((3, 4),)),
    same("one_hot", (np.array([[0, 2], [1, 9]], np.int32),), {"depth": 3, "on": 2.0, "off": -1.0},
         ref=lambda i: np.where(i[..., None] == np.arange(3), 2.0, -1.0)),
    same("one_hot", (np.array([0, 2, 1], np.int32),), {"depth": 3, "axis": 0},
         ref=lambda i: np.eye(3)[i].T),
]  # fmt: skip

PLACES = np.array([[2, 0], [1, 2]], np.int32)
SCORES = np.array([[0.1, 0.5, 0.5, 0.2], [0.9, 0.8, 0.7, 0.6]], np.float32)


ORDERED = np.array([-3, -1.5, -1.5, 0, 0.25, 2, 2, 2, 7], np.float32)
SOUGHT = np.array([[-4, -3, -1.5, 0.1], [2, 2.5, 7, 8]], np.float32)
RISING = np.array([[1, 2, 2, 5, 9], [-4, 0, 0, 0, 3]], np.int32)
ENDLESS = np.array([-np.inf, 0, 3e38, np.inf], np.float32)


def by_rows(x, v, side):
    return np.stack([np.searchsorted(a, b, side) for a, b in zip(x, v, strict=True)])


def running(x, axis, exclusive, reverse):
    turned = np.flip(x, axis) if reverse else x
    total = np.cumsum(turned, axis)
    total = total - turned if exclusive else total
    return np.flip(total, axis) if reverse else total


INDEXING = [
    Case("gather", (T, PLACES), {"axis": 1}, ref=lambda x, i: x.take(i, 1)),
    Case("gather", (T, PLACES), {"axis": None}, ref=lambda x, i: x.take(i)),
    Case("take_along_axis", ((2, 3), PLACES), {"axis": 1},
         ref=lambda x, i: np.take_along_axis(x, i, 1)),
    Case("gather_nd", ((2, 3, 4), np.array([[1, 2], [0, 0]], np.int32)),
         ref=lambda x, i: x[i[:, 0], i[:, 1]]),
    Case("embedding", ((3, 4), PLACES), ref=lambda t, i: t[i]),
    Case("flip", (T,), {"axis": (0, 2)}),
    Case("flip", (T,)),
    Case("fliplr", (T,)),
    Case("flipud", (T,)),
    Case("top_k", ((3, 5),), {"k": 2}, ref=lambda x: (-np.sort(-x)[:, :2], np.argsort(-x)[:, :2]),
         gradients=False),
    Case("sort", ((3, 5),), {"axis": 0}),
    Case("sort", ((3, 5),), {"descending": True}, ref=lambda x: -np.sort(-x)),
    same("argsort", ((3, 5),)),
    same("search_sorted", (ORDERED, SOUGHT), ref=np.searchsorted),
    same("search_sorted", (ORDERED, SOUGHT), {"side": "right"},
         ref=lambda x, v: np.searchsorted(x, v, "right")),
    *(same("search_sorted", (RISING, np.array([[2, 0, 10], [0, -9, 3]], np.int32)), {"side": side},
           ref=lambda x, v, side=side: by_rows(x, v, side)) for side in ("left", "right")),
    same("search_sorted", (ENDLESS, np.array([np.inf, -np.inf, np.nan, 1], np.float32)),
         ref=lambda x, v: np.array([3, 0, 4, 2])),
    same("search_sorted", (ORDERED[:0], SOUGHT), ref=np.searchsorted),
    same("search_sorted", (np.arange(100, dtype=np.float32), (3, 7)), ref=np.searchsorted,
         low=-5, high=105),
    Case("median", ((3, 5),), {"axis": 1}),
    Case("median", ((4, 3),), {"axis": 0}),
    Case("cumsum", (T,), {"axis": 1}),
    *(Case("cumsum", ((2, 4),), {"axis": 1, "exclusive": e, "reverse": r},
           ref=lambda x, e=e, r=r: running(x, 1, e, r)) for e, r in ((True, False), (True, True))),
    same("cumsum", (WHOLE,), {"axis": 0}),
    Case("cumprod", (T,), {"axis": 2}),
    Case("cummax", ((2, 4),), {"axis": 1}, ref=lambda x: np.maximum.accumulate(x, 1)),
    Case("cummin", ((2, 4),), {"axis": 1}, ref=lambda x: np.minimum.accumulate(x, 1)),
    same("in_top_k", (np.array([2, 3], np.int32), SCORES), {"k": 1},
         ref=lambda i, p: np.array([True, False])),
    same("in_top_k", (np.array([0, 1], np.int32), SCORES), {"k": 2},
         ref=lambda i, p: np.array([False, True])),
    same("bincount", (np.array([[0, 3], [3, 1]], np.int32),), {"length": 4},
         ref=lambda i: np.bincount(i.ravel(), minlength=4)),
    same("confusion_matrix", (np.array([0, 1, 2, 1], np.int32), np.array([0, 2, 2, 1], np.int32)),
         {"classes": 3}, ref=lambda t, p: np.array([[1, 0, 0], [0, 1, 1], [0, 0, 1]])),
]  # fmt: skip

TUPLES = np.array([[1, 2], [0, 0]], np.int32)


def put(x, i, u, how=None):
    found = x.copy()
    if how is None:
        np.put_along_axis(found, i, u, 1)
    else:
        how.at(found, (np.arange(len(x))[:, None], i), u)
    return found


def scattered(i, u, shape):
    found = np.zeros(shape)
    np.add.at(found, tuple(i.T), u)
    return found


SCATTERS = [
    Case("put_along_axis", ((2, 3), PLACES, (2, 2)), {"axis": 1}, ref=put),
    Case("put_along_axis", ((2, 3), PLACES, (2, 2)), {"reduction": "add"},
         ref=lambda x, i, u: put(x, i, u, np.add)),
    Case("scatter_update", ((2, 3), TUPLES, (2,)), {"reduction": "add"},
         ref=lambda x, i, u: x + scattered(i, u, (2, 3))),
    Case("scatter", (np.array([[1], [1], [0]], np.int32), (3, 2)), {"shape": (3, 2)},
         ref=lambda i, u: scattered(i, u, (3, 2))),
    Case("segment_sum", ((3, 2), np.array([1, 1, 0], np.int32)), {"count": 3},
         ref=lambda u, i: scattered(i[:, None], u, (3, 2))),
]  # fmt: skip

SIGNALS = [
    same("hann_window", (), {"length": 6}, ref=lambda: np.hanning(7)[:-1]),
    same("hamming_window", (), {"length": 6}, ref=lambda: np.hamming(7)[:-1]),
    Case("frame", ((7,),), {"length": 4, "step": 3},
         ref=lambda x: np.lib.stride_tricks.sliding_window_view(x, 4)[::3]),
    Case("frame", ((2, 7),), {"length": 3, "step": 2},
         ref=lambda x: np.lib.stride_tricks.sliding_window_view(x, 3, -1)[:, ::2]),
    Case("diff", (T,), {"axis": 1}),
    Case("polyval", ((3,), (2, 4))),
    Case("cross", ((2, 3), (3,))),
    Case("kron", ((2, 3), (3, 2))),
    Case("trapezoid", ((2, 5),), {"distance": 0.5}, ref=lambda x: np.trapezoid(x, dx=0.5)),
    Case("band_part", ((4, 5),), {"below": 1, "above": 2},
         ref=lambda x: np.tril(np.triu(x, -1), 2)),
    Case("band_part", ((3, 3),), {"above": 0}, ref=np.tril),
    Case("power_spectrum", ((2, 8),), ref=lambda x: abs(np.fft.rfft(x)) ** 2, tolerance=3e-5),
    Case("pairwise_distances", ((3, 4), (2, 4)),
         ref=lambda a, b: np.linalg.norm(a[:, None] - b[None], axis=-1)),
]  # fmt: skip

CASES = [*REDUCTIONS, *PRODUCTS, *MOVES, *CREATION, *INDEXING, *SCATTERS, *SIGNALS]
