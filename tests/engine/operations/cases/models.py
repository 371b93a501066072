"""Parts of models: normalisations, losses, windows, cells and images."""

from __future__ import annotations

from functools import partial

import numpy as np

from tests.engine.operations.cases.case import Case
from tests.engine.operations.cases.elementwise import sigmoid, softmax, softplus

X = (3, 4)
SHARES = {"low": 0.1, "high": 0.9}
HITS = np.array([[1, 0, 1, 0], [0, 0, 1, 1], [1, 1, 0, 0]], np.float32)
same = partial(Case, gradients=False)


def normal(x, axes, epsilon):
    apart = x - x.mean(axes, keepdims=True)
    return apart / np.sqrt((apart**2).mean(axes, keepdims=True) + epsilon)


def turned(x):
    return x.swapaxes(1, 2)


def variation(x):
    return abs(np.diff(x, axis=1)).sum((1, 2, 3)) + abs(np.diff(x, axis=2)).sum((1, 2, 3))


def neighbours(x, radius, bias, alpha, beta):
    sums = np.zeros_like(x)
    for c in range(x.shape[-1]):
        sums[..., c] = (x[..., max(c - radius, 0) : c + radius + 1] ** 2).sum(-1)
    return x / (bias + alpha * sums) ** beta


def grouped(x, s, b):
    return normal(x.reshape(2, 3, 2, 2), (1, 3), 1e-3).reshape(2, 3, 4) * s + b


NORMALISATIONS = [
    Case("batch_normalization", ((2, 3, 4), (4,), (4,)),
         ref=lambda x, m, v: (x - m) / np.sqrt(v + 1e-3), low=0.5),
    Case("batch_normalization", ((2, 3, 4), (3,), (3,), (3,), (3,)), {"axis": 1, "epsilon": 0.1},
         ref=lambda x, m, v, o, s: turned((turned(x) - m) / np.sqrt(v + 0.1) * s + o),
         low=0.5),
    Case("layer_normalization", (X, (4,), (4,)), ref=lambda x, s, b: normal(x, -1, 1e-3) * s + b),
    Case("rms_normalization", (X, (4,)),
         ref=lambda x, s: x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-7) * s),
    Case("instance_normalization", ((2, 3, 2, 4), (4,)), ref=lambda x, s: normal(x,
         (1, 2), 1e-5) * s),
    Case("group_normalization", ((2, 3, 4), (4,), (4,)), {"groups": 2}, ref=grouped),
    Case("local_response_normalization", ((1, 2, 2, 5),),
         {"radius": 1, "bias": 1.5, "alpha": 0.5, "beta": 0.75},
         ref=lambda x: neighbours(x, 1, 1.5, 0.5, 0.75)),
]  # fmt: skip


def huber(t, p, delta):
    size = abs(t - p)
    return np.where(size <= delta, 0.5 * size**2, delta * size - 0.5 * delta**2)


def crossed(t, p):
    return -t * np.log(p + 1e-7) - (1 - t) * np.log(1 - p + 1e-7)


def divergence(t, p):
    t, p = np.clip(t, 1e-7, 1), np.clip(p, 1e-7, 1)
    return (t * np.log(t / p)).sum(-1)


LOSSES = [
    Case("mean_squared_error", (X, X), ref=lambda t, p: ((t - p) ** 2).mean()),
    Case("mean_squared_error", (X, X, (4,)), {"reduction": "sum"},
         ref=lambda t, p, w: ((t - p) ** 2 * w).sum()),
    Case("absolute_difference", (X, X), {"reduction": "none"}, ref=lambda t, p: abs(t - p)),
    Case("huber", (X, X), {"delta": 0.5}, ref=lambda t, p: huber(t, p, 0.5).mean()),
    Case("log_cosh", (X, X), ref=lambda t, p: np.log(np.cosh(p - t)).mean()),
    Case("log_loss", (HITS, X), ref=lambda t, p: crossed(t, p).mean(), **SHARES),
    Case("hinge", (HITS, X), ref=lambda t, p: np.maximum(0, 1 - (2 * t - 1) * p).mean()),
    Case("hinge", (HITS, X), {"squared": True},
         ref=lambda t, p: (np.maximum(0, 1 - (2 * t - 1) * p) ** 2).mean()),
    Case("cosine_distance", (X, X), {"axis": 1}, ref=lambda t, p: (1 - (t * p).sum(1)).mean()),
    Case("cosine_distance", (X, X), {"normalized": True, "reduction": "none"},
         ref=lambda t, p: 1 - ((t * p).sum(1) / np.linalg.norm(t, axis=1)
                               / np.linalg.norm(p, axis=1))[:, None]),
    Case("cosine_similarity", (X, X), ref=lambda a, b: (a * b).sum(1) / np.linalg.norm(a, axis=1)
         / np.linalg.norm(b, axis=1)),
    Case("kl_divergence", (X, X), ref=divergence, **SHARES),
    Case("poisson_loss", (X, X), ref=lambda t, p: (p - t * np.log(p + 1e-7)).mean(), low=0.2),
    Case("sigmoid_cross_entropy", (HITS, X), {"label_smoothing": 0.1},
         ref=lambda t, x: (softplus(x) - (0.9 * t + 0.05) * x).mean()),
    same("sigmoid_cross_entropy", (HITS[:1], np.array([[90, -90, 80, -80]], np.float32)),
         ref=lambda t, x: (softplus(x) - t * x).mean()),
    Case("softmax_cross_entropy", (X, X), ref=lambda t, x: -(t * np.log(softmax(x))).sum(-1).mean(),
         **SHARES),
    Case("softmax_cross_entropy", (X, X, (3,)), {"label_smoothing": 0.2, "reduction": "none"},
         ref=lambda t, x, w: -((0.8 * t + 0.05) * np.log(softmax(x))).sum(-1) * w),
    Case("sparse_softmax_cross_entropy", (np.array([0, 3, 1], np.int32), X),
         ref=lambda i, x: -np.log(softmax(x))[np.arange(3), i].mean()),
    Case("categorical_cross_entropy", (X, X),
         ref=lambda t, p: -(t * np.log(p / p.sum(-1, keepdims=True))).sum(-1), **SHARES),
    Case("binary_cross_entropy", (HITS, X),
         ref=lambda t, p: -(t * np.log(p) + (1 - t) * np.log(1 - p)), **SHARES),
    Case("weighted_loss", (X, (4,)), ref=lambda x, w: (x * w).mean()),
    same("accuracy", (np.array([1, 2, 3], np.int32), np.array([1, 0, 3], np.int32)),
         ref=lambda t, p: (t == p).mean()),
]  # fmt: skip


def convolved(x, kernel, strides=(1, 1), pads=((0, 0), (0, 0)), dilation=(1, 1), apart=False):
    x = np.pad(x, ((0, 0), *pads, (0, 0)))
    rows, columns = kernel.shape[:2]
    high = (x.shape[1] - (rows - 1) * dilation[0] - 1) // strides[0] + 1
    wide = (x.shape[2] - (columns - 1) * dilation[1] - 1) // strides[1] + 1
    found = 0
    for r in range(rows):
        for s in range(columns):
            top, left = r * dilation[0], s * dilation[1]
            part = x[:, top : top + high * strides[0] : strides[0],
                     left : left + wide * strides[1] : strides[1]][:, :high, :wide]  # fmt: skip
            if apart:
                term = part[..., None] * kernel[r, s]
                found = found + term.reshape(*part.shape[:3], -1)
            else:
                found = found + part @ kernel[r, s]
    return found


def windows(x, size, strides, pads, how, fill):
    x = np.pad(x, ((0, 0), *pads, (0, 0)), constant_values=fill)
    seen = np.lib.stride_tricks.sliding_window_view(x, size, (1, 2))
    return how(seen[:, :: strides[0], :: strides[1]], axis=(-2, -1))


def spread_out(x, kernel, strides, front, size):
    """Every cell adds the kernel, scaled by it, to the result."""
    n, high, wide, _ = x.shape
    rows, columns, out, _ = kernel.shape
    big = np.zeros((n, high * strides[0] + rows, wide * strides[1] + columns, out))
    for i, j in np.ndindex(high, wide):
        top, left = i * strides[0], j * strides[1]
        big[:, top : top + rows, left : left + columns] += np.einsum(
            "nc,rsoc->nrso", x[:, i, j], kernel
        )
    return big[:, front[0] : front[0] + size[0], front[1] : front[1] + size[1]]


def holes(kernel):
    """A kernel with zeros between its cells."""
    rows, columns, *rest = kernel.shape
    found = np.zeros((2 * rows - 1, 2 * columns - 1, *rest))
    found[::2, ::2] = kernel
    return found


def dilated(x, kernel, strides=(1, 1), pads=((0, 0), (0, 0))):
    def largest(seen, axis):
        return (seen + kernel.transpose(2, 0, 1)).max(axis)

    return windows(x, kernel.shape[:2], strides, pads, largest, -np.inf)


def with_places(x, size, strides, pads):
    places = np.broadcast_to(np.arange(x[0].size).reshape(x.shape[1:]), x.shape)
    found = windows(x, size, strides, pads, np.max, -np.inf)
    seen = windows(x, size, strides, pads, lambda s, axis: s.reshape(*s.shape[:4], -1).argmax(-1),
                   -np.inf)  # fmt: skip
    each = windows(places, size, strides, pads, lambda s, axis: s.reshape(*s.shape[:4], -1), -1)
    return found, np.take_along_axis(each, seen[..., None], -1)[..., 0]


def deep(x, kernel, strides=(1, 1, 1), pads=((0, 0),) * 3):
    x = np.pad(x, ((0, 0), *pads, (0, 0)))
    seen = np.lib.stride_tricks.sliding_window_view(x, kernel.shape[:3], (1, 2, 3))
    seen = seen[:, :: strides[0], :: strides[1], :: strides[2]]
    return np.einsum("nijkcdrs,drsco->nijko", seen, kernel)


def blocks(x, size, strides, pads, how, fill):
    x = np.pad(x, ((0, 0), *pads, (0, 0)), constant_values=fill)
    seen = np.lib.stride_tricks.sliding_window_view(x, size, (1, 2, 3))
    return how(seen[:, :: strides[0], :: strides[1], :: strides[2]], axis=(-3, -2, -1))


IMAGE = (2, 4, 5, 3)
VOLUME = (2, 3, 4, 5, 2)
NONE = ((0, 0), (0, 0))
LEAST = np.full((1, 2, 3, 1), -np.inf, np.float32)
WINDOWS = [
    Case("conv2d", (IMAGE, (2, 3, 3, 2)), ref=convolved),
    Case("conv2d", (IMAGE, (3, 2, 3, 2), (2,)), {"strides": (2, 1), "padding": "same"},
         ref=lambda x, k, b: convolved(x, k, (2, 1), ((0, 1), (0, 1))) + b),
    Case("conv2d", (IMAGE, (2, 2, 3, 2)), {"dilation": (2, 3)},
         ref=lambda x, k: convolved(x, k, dilation=(2, 3)), batch=True),
    Case("conv2d_transpose", (IMAGE, (3, 2, 2, 3)),
         ref=lambda x, k: spread_out(x, k, (1, 1), (0, 0), (6, 6))),
    Case("conv2d_transpose", (IMAGE, (3, 2, 2, 3), (2,)), {"strides": (2, 3)}, batch=True,
         ref=lambda x, k, b: spread_out(x, k, (2, 3), (0, 0), (9, 15)) + b),
    Case("conv2d_transpose", (IMAGE, (3, 3, 2, 3)), {"strides": (2, 2), "padding": "same"},
         ref=lambda x, k: spread_out(x, k, (2, 2), (0, 0), (8, 10))),
    Case("conv2d_transpose", (IMAGE, (3, 3, 2, 3)),
         {"strides": (2, 2), "padding": "same", "size": (7, 9)},
         ref=lambda x, k: spread_out(x, k, (2, 2), (1, 1), (7, 9))),
    Case("conv2d_transpose", (IMAGE, (2, 2, 2, 3)), {"dilation": (2, 2)},
         ref=lambda x, k: spread_out(x, holes(k), (1, 1), (0, 0), (6, 7))),
    Case("dilation2d", (IMAGE, (2, 2, 3)), ref=dilated),
    Case("dilation2d", (IMAGE, (3, 2, 3)), {"strides": (2, 1), "padding": "same"},
         ref=lambda x, k: dilated(x, k, (2, 1), ((0, 1), (0, 1))), batch=True),
    Case("dilation2d", (IMAGE, (2, 2, 3)), {"dilation": (2, 2)},
         ref=lambda x, k: dilated(x, np.where(holes(np.ones_like(k)) > 0, holes(k), -np.inf))),
    same("max_pool_with_argmax", (IMAGE,), apart=0.03,
         ref=lambda x: with_places(x, (2, 2), (2, 2), NONE)),
    same("max_pool_with_argmax", (IMAGE,), {"size": (3, 2), "strides": (1, 2), "padding": "same"},
         ref=lambda x: with_places(x, (3, 2), (1, 2), ((1, 1), (0, 1))), apart=0.03, batch=True),
    same("max_pool_with_argmax", (LEAST,), {"size": (3, 3), "strides": (1, 1), "padding": "same"},
         ref=lambda x: (x, np.array([0, 0, 1, 0, 0, 1]).reshape(1, 2, 3, 1))),
    Case("conv3d", (VOLUME, (2, 3, 2, 2, 2), (2,)), ref=lambda x, k, b: deep(x, k) + b),
    Case("conv3d", (VOLUME, (2, 3, 3, 2, 1)), {"strides": (1, 2, 2), "padding": "same"},
         ref=lambda x, k: deep(x, k, (1, 2, 2), ((0, 1), (0, 1), (1, 1))), batch=True),
    Case("conv3d", (VOLUME, (2, 1, 1, 2, 2)), {"strides": (2, 1, 1)},
         ref=lambda x, k: deep(x, k, (2, 1, 1))),
    Case("conv3d", (VOLUME, (2, 2, 1, 2, 1)), {"dilation": (2, 3, 1)},
         ref=lambda x, k: sum(x[:, 2 * d, 3 * r] @ k[d, r, 0] for d in (0, 1) for r in (0, 1)
                              )[:, None, None]),
    Case("max_pool3d", (VOLUME,), apart=0.03, batch=True,
         ref=lambda x: blocks(x, (2, 2, 2), (2, 2, 2), ((0, 0),) * 3, np.max, 0)),
    Case("max_pool3d", (VOLUME,), {"size": (2, 3, 3), "strides": (1, 1, 2), "padding": "same"},
         ref=lambda x: blocks(x, (2, 3, 3), (1, 1, 2), ((0, 1), (1, 1), (1, 1)), np.max, -np.inf),
         apart=0.03),
    Case("average_pool3d", (VOLUME,), {"size": (2, 3, 2), "strides": (1, 1, 2), "padding": "same"},
         ref=lambda x: blocks(x, (2, 3, 2), (1, 1, 2), ((0, 1), (1, 1), (0, 1)), np.nanmean,
                              np.nan)),
    Case("average_pool3d", (VOLUME,), {"size": (1, 2, 3), "strides": (1, 1, 1)},
         ref=lambda x: blocks(x, (1, 2, 3), (1, 1, 1), ((0, 0),) * 3, np.mean, 0)),
    Case("depthwise_conv2d", (IMAGE, (2, 2, 3, 2), (6,)),
         ref=lambda x, k, b: convolved(x, k, apart=True) + b),
    Case("separable_conv2d", (IMAGE, (2, 2, 3, 2), (1, 1, 6, 2)),
         ref=lambda x, d, p: convolved(convolved(x, d, apart=True), p)),
    Case("conv1d", ((2, 6, 3), (3, 3, 2)), {"stride": 2},
         ref=lambda x, k: convolved(x[:, None], k[None], (1, 2))[:, 0]),
    Case("depthwise_conv1d", ((2, 6, 3), (2, 3, 2), (6,)), {"padding": "same"},
         ref=lambda x, k, b: convolved(x[:, None], k[None], pads=((0, 0), (0, 1)),
         apart=True)[:, 0] + b),
    Case("max_pool2d", (IMAGE,), ref=lambda x: windows(x, (2, 2), (2, 2), ((0, 0),
         (0, 0)), np.max, 0),
         apart=0.03),
    Case("max_pool2d", (IMAGE,), {"size": (3, 2), "strides": (1, 2), "padding": "same"},
         ref=lambda x: windows(x, (3, 2), (1, 2), ((1, 1), (0, 1)), np.max, -np.inf), apart=0.03),
    Case("average_pool2d", (IMAGE,), {"size": (2, 3), "strides": (2, 2), "padding": "same"},
         ref=lambda x: windows(x, (2, 3), (2, 2), ((0, 0), (1, 1)), np.nanmean, np.nan)),
    Case("max_pool1d", ((2, 6, 3),), {"size": 3, "stride": 1},
         ref=lambda x: windows(x[:, None], (1, 3), (1, 1), ((0, 0), (0, 0)), np.max, 0)[:, 0],
         apart=0.03),
    Case("average_pool1d", ((2, 6, 3),),
         ref=lambda x: windows(x[:, None], (1, 2), (1, 2), ((0, 0), (0, 0)), np.mean, 0)[:, 0]),
    Case("global_average_pool2d", (IMAGE,), ref=lambda x: x.mean((1, 2))),
    Case("global_max_pool2d", (IMAGE,), ref=lambda x: x.max((1, 2)), apart=0.03),
    Case("linear", (X, (4, 2), (2,)), ref=lambda x, k, b: x @ k + b),
]  # fmt: skip


def lstm(x, h, c, k, b):
    i, j, f, o = np.split(np.concatenate([x, h], 1) @ k + b, 4, 1)
    state = c * sigmoid(f + 1) + sigmoid(i) * np.tanh(j)
    return np.tanh(state) * sigmoid(o), state


def gru(x, h, g, gb, k, b):
    r, u = np.split(sigmoid(np.concatenate([x, h], 1) @ g + gb), 2, 1)
    return u * h + (1 - u) * np.tanh(np.concatenate([x, r * h], 1) @ k + b)


def attention(q, k, v, mask=0.0):
    return softmax(q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1]) + mask) @ v


CELLS = [
    Case("basic_lstm_cell", ((2, 3), (2, 2), (2, 2), (5, 8), (8,)), ref=lstm),
    Case("basic_rnn_cell", ((2, 3), (2, 2), (5, 2), (2,)),
         ref=lambda x, h, k, b: np.tanh(np.concatenate([x, h], 1) @ k + b)),
    Case("basic_gru_cell", ((2, 3), (2, 2), (5, 4), (4,), (5, 2), (2,)), ref=gru),
    Case("dot_product_attention", ((2, 3, 4), (2, 2, 4), (2, 2, 3)), ref=attention),
    Case("dot_product_attention", ((3, 4), (2, 4), (2, 3), (3, 2)), {"scale": 0.5}, ref=attention),
]  # fmt: skip


def tents(new, old):
    """Weights of cells by their distance from the places looked at, half a cell in."""
    places = np.clip((np.arange(new) + 0.5) * old / new - 0.5, 0, old - 1)
    return np.maximum(0, 1 - abs(places[:, None] - np.arange(old)))


def smooth(new, old):
    """Tents as wide as the step between places; what lies outside is left out."""
    places = (np.arange(new) + 0.5) * old / new - 0.5
    found = np.maximum(0, 1 - abs(places[:, None] - np.arange(old)) / max(old / new, 1))
    return found / found.sum(1, keepdims=True)


def keys(new, old):
    """Cubic weights (Keys 1981); what lies outside is left out."""
    d = abs(((np.arange(new) + 0.5) * old / new - 0.5)[:, None] - np.arange(old))
    near, far = 1.5 * d**3 - 2.5 * d**2 + 1, -0.5 * d**3 + 2.5 * d**2 - 4 * d + 2
    found = np.where(d <= 1, near, np.where(d < 2, far, 0))
    return found / found.sum(1, keepdims=True)


def corners(new, old):
    return np.maximum(0, 1 - abs(np.linspace(0, old - 1, new)[:, None] - np.arange(old)))


def resized(x, height, width, weights):
    return np.einsum("ih,jw,nhwc->nijc", weights(height, x.shape[1]), weights(width, x.shape[2]), x)


IMAGES = [
    Case("resize", (IMAGE,), {"height": 7, "width": 3}, ref=lambda x: resized(x, 7, 3, tents)),
    Case("resize", (IMAGE,), {"height": 3, "width": 8, "coords": "align_corners"},
         ref=lambda x: resized(x, 3, 8, corners)),
    Case("resize", (IMAGE,), {"height": 2, "width": 3, "antialias": True},
         ref=lambda x: resized(x, 2, 3, smooth)),
    Case("resize", (IMAGE,), {"height": 8, "width": 3, "method": "bicubic", "exclude": True},
         ref=lambda x: resized(x, 8, 3, keys)),
    Case("resize_nearest", (IMAGE,),
         {"height": 7, "width": 3, "coords": "asymmetric", "rounding": "down"},
         ref=lambda x: x[:, np.arange(7) * 4 // 7][:, :, np.arange(3) * 5 // 3]),
    Case("resize_nearest", (IMAGE,), {"height": 8, "width": 10},
         ref=lambda x: x.repeat(2, 1).repeat(2, 2)),
    Case("flip_left_right", (IMAGE,), ref=lambda x: x[:, :, ::-1], batch=True),
    Case("flip_up_down", (IMAGE,), ref=lambda x: x[:, ::-1]),
    *(Case("rotate_quarters", ((1, 2, 3, 1),), {"turns": k},
           ref=lambda x, k=k: np.rot90(x, k, (1, 2))) for k in (1, 2, 3, 4)),
    Case("center_crop", (IMAGE,), {"height": 2, "width": 3}, ref=lambda x: x[:, 1:3, 1:4]),
    Case("upsample", (IMAGE,), ref=lambda x: x.repeat(2, 1).repeat(2, 2)),
    Case("rgb_to_grayscale", (IMAGE,), ref=lambda x: (x @ [0.2989, 0.587, 0.114])[..., None]),
    Case("grayscale_to_rgb", ((1, 2, 3, 1),), ref=lambda x: x.repeat(3, -1)),
    Case("adjust_brightness", (IMAGE,), {"delta": 0.25}, ref=lambda x: x + 0.25),
    Case("adjust_contrast", (IMAGE,), {"factor": 2.0},
         ref=lambda x: 2 * x - x.mean((1, 2), keepdims=True)),
    same("binarize", (IMAGE,), ref=lambda x: (x > 0.5).astype(float)),
    Case("total_variation", ((2, 3, 3, 2),), apart=0.03,
         ref=variation),
    Case("invert_image", (IMAGE,), {"largest": 255.0}, ref=lambda x: 255 - x),
    Case("adjust_gamma", ((1, 2, 3, 1),), {"gamma": 2.2, "gain": 0.5}, ref=lambda x: 0.5 * x**2.2,
         low=0.1),
    Case("apply_mask", (X, HITS != 0), ref=lambda x, m: x * m),
    Case("apply_mask", (X, HITS), ref=lambda x, m: x * (m != 0), gradients=False),
]  # fmt: skip

CASES = [*NORMALISATIONS, *LOSSES, *WINDOWS, *CELLS, *IMAGES]
