"""Random instructions: dropout, noise and augmentation from the counter-based generator.

Uniforms come from Philox 4x32-10 keyed by the seed in the step block. Per-step instructions use
counter (element/4, step, stream, 0), where elements are counted from the first row of the batch of
all workers; augmentation uses counter (word/4, epoch, stream, 1 + sample)
so that a sample gets the same treatment in an epoch whatever batch or shard it falls in.
"""

from __future__ import annotations

from studio.engine.core.tensor import Ref, TensorType
from studio.engine.isa.families import require_rank
from studio.engine.isa.fields import flag, integer, integers, number, reads, side_input, writes
from studio.engine.isa.instruction import GradInstruction, Instruction, TypeOf

_FIRST = "Row of the batch of all workers at which this one's begins, int32 [1]; 0 without."


class Dropout(Instruction, code=10, mnemonic="DROPOUT", category="random", saves=()):
    """Zero elements at random and scale up the rest.

    y = x/(1 - rate) where u >= rate, else 0, with u uniform from the stream; the gradient draws the
    same u again instead of storing a mask.
    """

    synopsis = "{y} = dropout({x}, {rate})"
    random = True

    x = reads("Input.")
    y = writes("Output, shape of the input.")
    rate = number("Fraction of elements dropped.", 0.5, low=0.0, high=0.999999)
    stream = integer("Stream of the generator.", 0, low=0, tail=True)
    step = side_input("Step block that keys the draw.")
    first = side_input(_FIRST, since=2)

    def infer(self, of: TypeOf) -> tuple[TensorType, ...]:
        """The type of x."""
        return (of(self.x),)

    @classmethod
    def saved_statistics(cls, grad_ins: GradInstruction) -> frozenset[Ref]:
        """The step block is read again to draw the same numbers, and so is the first row."""
        keys = (grad_ins.ref("step"), grad_ins.ref("first"))
        return frozenset(ref for ref in keys if ref.present)


class RandomUniform(Instruction, code=330, mnemonic="RANDOM_UNIFORM", category="random"):
    """Fill a tensor with uniform random numbers.

    y = low + (high - low)·u with u = (bits >> 8)·2⁻²⁴. No gradient.
    """

    synopsis = "{y} = uniform({low}, {high})"
    random = True

    step = reads("Step block.", differentiable=False)
    y = writes("Random numbers, float32.")
    low = number("Smallest value.", 0.0)
    high = number("Bound that is not reached.", 1.0)
    shape = integers("Shape; -1 in front is the batch.")
    stream = integer("Stream of the generator.", 0, low=0, tail=True)
    first = side_input(_FIRST, since=2)

    def infer(self, of: TypeOf) -> tuple[TensorType, ...]:
        """The stated shape."""
        return (TensorType(self.shape),)


class RandomNormal(Instruction, code=500, mnemonic="RANDOM_NORMAL", category="random", since=2):
    """Fill a tensor with normal random numbers.

    y = mean + deviation·z. Elements 2k and 2k + 1 have z = r·cos 2πv and r·sin 2πv with
    r = √(-2 ln u), u = ((word 2k >> 8) + 1)·2⁻²⁴ and v = (word 2k+1 >> 8)·2⁻²⁴, by Box and Muller.
    Logarithm, sine and cosine are polynomials in a fixed order: backends agree within a millionth
    of r. |z| is at most 5.77. No gradient.
    """

    synopsis = "{y} = normal({mean}, {deviation})"
    random = True

    step = reads("Step block.", differentiable=False)
    y = writes("Random numbers, float32.")
    mean = number("Mean.", 0.0)
    deviation = number("Standard deviation.", 1.0, low=0.0)
    shape = integers("Shape; -1 in front is the batch.")
    stream = integer("Stream of the generator.", 0, low=0, tail=True)
    first = side_input(_FIRST, since=2)

    def infer(self, of: TypeOf) -> tuple[TensorType, ...]:
        """The stated shape."""
        return (TensorType(self.shape),)

    def flops(self, of: TypeOf) -> int:
        """Two polynomials, a root and their products for each pair."""
        return 25 * of(self.y).numel


class Augment(Instruction, category="augmentation"):
    """Operands and shape rule of augmentations of [N,H,W,C] images.

    The sample of row i is order[cursor + i] + offset, both words of the step block.
    """

    random = True

    x = reads("Images [N,H,W,C], float32.", differentiable=False)
    order = reads("Order of the samples [D], int32.", differentiable=False)
    step = reads("Step block.", differentiable=False)
    y = writes("Changed images, same shape.")
    stream = integer("Stream of the generator.", 0, low=0, tail=True)

    def infer(self, of: TypeOf) -> tuple[TensorType, ...]:
        """The type of x."""
        x = of(self.x)
        require_rank(self.mnemonic, "x", x, 4)
        return (x,)

    def moved(self, ref: Ref, of: TypeOf) -> int:
        """Of the order the numbers of the batch."""
        return of(self.x).shape[0] if ref == self.order else super().moved(ref, of)


class AugmentFlip(Augment, code=331, mnemonic="AUGMENT_FLIP"):
    """Mirror images at random.

    Draws u0, u1: left-right where ``horizontal`` and u0 < 1/2; upside down where ``vertical`` and
    u1 < 1/2.
    """

    synopsis = "{y} = flip({x})"
    horizontal = flag("Mirror left and right.")
    vertical = flag("Mirror up and down.")


class AugmentShift(Augment, code=332, mnemonic="AUGMENT_SHIFT"):
    """Move images by whole cells at random; new cells are ``fill``.

    dy = floor(u0·(2·rows + 1)) - rows, dx = floor(u1·(2·cols + 1)) - cols;
    y[i,j] = x[i - dy, j - dx]. Pad-and-crop with a border of p is a shift by up to p.
    """

    synopsis = "{y} = shift({x}, ±{rows}, ±{cols})"
    rows = integer("Largest move up or down.", 1, low=0, high=1024)
    cols = integer("Largest move left or right.", 1, low=0, high=1024)
    fill = number("Value of cells that come in.", 0.0, tail=True)


class AugmentRotate(Augment, code=333, mnemonic="AUGMENT_ROTATE"):
    """Rotate and zoom images at random about their centre, bilinear; new cells are ``fill``.

    angle = (2·u0 - 1)·degrees, zoom = 1 + u1·(zoom - 1); y[i,j] samples x at the centre plus the
    inverse rotation of (i,j) minus the centre, divided by the zoom.
    """

    synopsis = "{y} = rotate({x}, ±{degrees}°)"
    degrees = number("Largest angle either way.", 15.0, low=0.0, high=180.0)
    zoom = number("Largest enlargement.", 1.0, low=1.0, high=8.0)
    fill = number("Value of cells that come in.", 0.0, tail=True)


class AugmentNoise(Augment, code=334, mnemonic="AUGMENT_NOISE"):
    """Add noise that is close to normal.

    y = x + deviation·(u0 + … + u11 - 6): twelve uniforms per element, added in order, have mean 6
    and variance 1; unlike a Box-Muller transform the sum is the same on every device.
    """

    synopsis = "{y} = {x} + noise({deviation})"
    deviation = number("Standard deviation.", 0.1, low=0.0)


class AugmentStandardize(Augment, code=335, mnemonic="AUGMENT_STANDARDIZE"):
    """Give every image the same range or the same mean and deviation.

    By default y = (x - min)/(max - min)·(high - low) + low with the image's own extremes; with
    ``moments`` y = (x - mean)/deviation·high + low with its own population moments. A flat image
    becomes ``low``. Draws nothing.
    """

    synopsis = "{y} = standardize({x})"
    low = number("Lower end, or the new mean.", 0.0)
    high = number("Upper end, or the new deviation.", 1.0)
    moments = flag("Use mean and deviation instead of the extremes.")
