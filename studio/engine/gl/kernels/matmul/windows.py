"""What kernels of sliding windows need to know of their geometry."""

from __future__ import annotations

from studio.engine.gl.kernels.specs import Case


def geometry(case: Case) -> dict[str, int | str]:
    """Sizes of input, result and filter as macros."""
    _, height, width, channels = case.shape("x")
    _, out_h, out_w, filters = case.shape("y")
    found: dict[str, int | str] = {
        "IN_H": height,
        "IN_W": width,
        "OUT_H": out_h,
        "OUT_W": out_w,
        "CHANNELS": channels,
        "FILTERS": filters,
        "STRIDE_H": case.ins.value("stride_h"),
        "STRIDE_W": case.ins.value("stride_w"),
    }
    if case.has("w"):
        found["KH"], found["KW"] = case.shape("w")[:2]
        found["HALO"] = int(covered(case))
        found["POINTWISE"] = int(pointwise(case))
    return found


def covered(case: Case) -> bool:
    """Whether every cell a window can reach lies in the storage of x, its halo included."""
    tensor = case.tensor("x")
    _, height, width, _ = case.shape("x")
    _, out_h, out_w, _ = case.shape("y")
    kh, kw = case.shape("w")[:2]
    ins = case.ins
    begin = (ins.value("pad_h"), ins.value("pad_w"))
    reach_h = (out_h - 1) * ins.value("stride_h") + (kh - 1) * ins.value("dil_h") - begin[0]
    reach_w = (out_w - 1) * ins.value("stride_w") + (kw - 1) * ins.value("dil_w") - begin[1]
    ends = (max(reach_h - height + 1, 0), max(reach_w - width + 1, 0))
    if not any((*begin, *ends)):
        return True
    if not tensor.pad:
        return False
    return all(
        before >= first and after >= last
        for (before, after), first, last in zip(tensor.pad[1:3], begin, ends, strict=True)
    )


def pointwise(case: Case) -> bool:
    """Whether the window is a single cell and every position has its own."""
    ins = case.ins
    steps = (ins.value("stride_h"), ins.value("stride_w"))
    return (
        case.shape("w")[:2] == (1, 1)
        and steps == (1, 1)
        and case.shape("x")[:3] == case.shape("y")[:3]
        and ins.value("pad_h") == ins.value("pad_w") == 0
    )
