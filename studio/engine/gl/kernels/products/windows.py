"""What kernels of sliding windows need to know of their geometry."""

from __future__ import annotations

from studio.engine.gl.kernels.specs import BoundInstruction


def geometry(op: BoundInstruction) -> dict[str, int | str]:
    """Sizes of input, result and filter as macros."""
    _, height, width, channels = op.shape("x")
    _, out_h, out_w, filters = op.shape("y")
    found: dict[str, int | str] = {
        "IN_H": height,
        "IN_W": width,
        "OUT_H": out_h,
        "OUT_W": out_w,
        "CHANNELS": channels,
        "FILTERS": filters,
        "STRIDE_H": op.ins.value("stride_h"),
        "STRIDE_W": op.ins.value("stride_w"),
    }
    if op.has("w"):
        found["KH"], found["KW"] = op.shape("w")[:2]
        found["HALO"] = int(covered(op))
        found["POINTWISE"] = int(pointwise(op))
    return found


def covered(op: BoundInstruction) -> bool:
    """Whether every cell a window can reach lies in the storage of x, its halo included."""
    pad = op.tensor("x").pad[-3:]
    _, height, width, _ = op.shape("x")
    _, out_h, out_w, _ = op.shape("y")
    kh, kw = op.shape("w")[:2]
    ins = op.ins
    begin = (ins.value("pad_h"), ins.value("pad_w"))
    reach_h = (out_h - 1) * ins.value("stride_h") + (kh - 1) * ins.value("dil_h") - begin[0]
    reach_w = (out_w - 1) * ins.value("stride_w") + (kw - 1) * ins.value("dil_w") - begin[1]
    ends = (max(reach_h - height + 1, 0), max(reach_w - width + 1, 0))
    if not any((*begin, *ends)):
        return True
    if not pad:
        return False
    return all(
        before >= first and after >= last
        for (before, after), first, last in zip(pad[:2], begin, ends, strict=True)
    )


def pointwise(op: BoundInstruction) -> bool:
    """Whether the window is a single cell and every position has its own."""
    ins = op.ins
    steps = (ins.value("stride_h"), ins.value("stride_w"))
    return (
        op.shape("w")[:2] == (1, 1)
        and steps == (1, 1)
        and op.shape("x")[:3] == op.shape("y")[:3]
        and ins.value("pad_h") == ins.value("pad_w") == 0
    )
