"""What passes may know about a device: plain data, so that programs are the same everywhere."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Target:
    """Alignments, limits and layout choices of a kind of device.

    Attributes:
        name: ``cpu``, ``gl-hardware`` or ``gl-software``.
        is_software: a CPU draws; barriers and shared memory are dear there.
        whole_words: storages hold words of four bytes or packed ones, as device buffers do.
        pad_convolution_inputs: give inputs of padded convolutions a zero halo.
        max_storage_bytes: largest single tensor; an arena beyond it is several buffers.
        offset_alignment: bytes a storage offset must be a multiple of.
        max_fused_storages: storages one fused kernel may touch.
        fuses_operands: kernels take further tensors where they store their result: they add one, or
            scale and shift by running statistics.
        fuses_gradients: kernels apply gradients of element-wise functions where they store theirs.
        snapshots_step: updates read a copy of the step block, so that the next step may begin
            while they run.
        fuses_row_losses: kernels of short dense layers have whole rows of their outputs, and can
            take the loss of these rows and its gradient along.
        row_outputs: outputs up to which a dense layer is that short.
        row_inputs: inputs up to which it is.
        padded_writers: mnemonics whose kernels write into storage with a halo at full speed.
        in_order: kernels run one after another as the program has them; else those that data flow
            leaves independent may run side by side, and the memory plan keeps their storages apart.
        slack: levels by which a small kernel may run later than it could, where one of its
            results is wanted later (gradients of weights, beside those of the layer before).
        filling_flops: operations from which on a kernel fills the device by itself, so that it
            gains nothing from others beside it.
        filling_bytes: bytes moved from which on it does.
        fuses_statistics: kernels of products take along the sums that a batch normalisation begins
            with.
        partial_sums: sums of all columns that the parts of a partial tensor hold at most; with
            fewer than there are columns it is one part.
        partial_rows: rows at least of a part, where there are several.
        joined_columns: columns up to which every work group of a normalisation joins the parts of
            all of them for itself; without that, sums that are taken along save nothing.
    """

    name: str
    pad_convolution_inputs: bool
    max_storage_bytes: int
    offset_alignment: int
    is_software: bool = False
    whole_words: bool = False
    max_fused_storages: int = 8
    fuses_operands: bool = False
    fuses_gradients: bool = False
    snapshots_step: bool = False
    fuses_row_losses: bool = False
    row_outputs: int = 0
    row_inputs: int = 0
    padded_writers: frozenset[str] = frozenset()
    in_order: bool = False
    slack: int = 1
    filling_flops: int = 400_000_000
    filling_bytes: int = 32 << 20
    fuses_statistics: bool = False
    partial_sums: int = 0
    partial_rows: int = 1
    joined_columns: int = 0


PADDED_WRITERS = frozenset(
    {
        "ADD",
        "AUGMENT_FLIP",
        "AUGMENT_NOISE",
        "AUGMENT_ROTATE",
        "AUGMENT_SHIFT",
        "AVGPOOL2D",
        "BATCHNORM2D",
        "CONCAT",
        "CONCAT_CHANNEL",
        "CONV2D",
        "DEPTHWISE_CONV2D",
        "DROPOUT",
        "ELU",
        "GATHER_BATCH",
        "LEAKY_RELU",
        "MAXPOOL2D",
        "MUL",
        "NORMALIZE",
        "RELU",
        "SIGMOID",
        "SWISH",
        "TANH",
    }
)
"""The layout table: writers of pictures, which go row by row and so step over a halo easily."""


CPU = Target(
    "cpu",
    # Its compiled loops want rows without gaps; a halo costs more there than it saves.
    pad_convolution_inputs=False,
    max_storage_bytes=1 << 40,
    offset_alignment=64,
    max_fused_storages=32,
    padded_writers=PADDED_WRITERS,
    in_order=True,
)
"""The NumPy backend."""

GL = Target(
    "gl-hardware",
    pad_convolution_inputs=True,
    # Kernels number elements by int, and a grid numbers up to 1 / 65535 more than there are bytes.
    max_storage_bytes=(1 << 31) - (1 << 16),
    offset_alignment=256,
    whole_words=True,
    fuses_operands=True,
    fuses_gradients=True,
    snapshots_step=True,
    fuses_row_losses=True,
    row_outputs=16,
    row_inputs=4096,
    padded_writers=PADDED_WRITERS,
    fuses_statistics=True,
    partial_sums=16384,
    partial_rows=8,
    joined_columns=1024,
)
"""Any GPU with OpenGL 4.3."""

GL_SOFTWARE = replace(
    GL, name="gl-software", is_software=True, fuses_statistics=False, fuses_row_losses=False
)
"""A software renderer, such as llvmpipe."""

TARGETS = {target.name: target for target in (CPU, GL, GL_SOFTWARE)}
"""Every target by name."""
