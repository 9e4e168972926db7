"""Copies: the same elements in new memory, in another dtype, or into a given tensor.

The in-place forms ``copy_``, ``fill_`` and ``zero_`` are derived from the functional
ones. The result has self's dtype, so a source of another dtype is converted.
"""

from pellucid_compiler.declare import cast, loop, pointwise, require, tabulate

_LIKE = (
    "*, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
    "bool? pin_memory=None, bool non_blocking=False, MemoryFormat? memory_format=None"
)


@pointwise(
    "clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor",
    inplace=False,
    out=False,
    forms=(
        "clone.out(Tensor self, *, MemoryFormat? memory_format=None, Tensor(a!) out) "
        "-> Tensor(a!)",
    ),
    core=True,
)
def clone(x, memory_format):
    """A copy of the elements in new memory."""
    return x


@pointwise(
    f"_to_copy(Tensor self, {_LIKE}) -> Tensor",
    inplace=False,
    out=False,
    method=False,
    function=False,
    core=True,
)
def to_copy(x, dtype, layout, device, pin_memory, non_blocking, memory_format):
    """A copy of the elements as ``dtype``, in new memory."""
    return cast(x, dtype or x.dtype)


@pointwise(
    "copy(Tensor self, Tensor src, bool non_blocking=False) -> Tensor",
    unpromoted=("src",),
    out=False,
    forms=(
        "copy.out(Tensor self, Tensor src, bool non_blocking=False, *, "
        "Tensor(a!) out) -> Tensor(a!)",
    ),
    function=False,
    node="CopyBackwards",
    core=True,
    method=False,
    inplace_method=True,
)
def copy(x, src, non_blocking):
    """The elements of ``src`` as x's dtype."""
    return cast(src, x.dtype)


@loop(
    "fill.Tensor(Tensor self, Tensor value) -> Tensor",
    inplace=True,
    out=False,
    forms=(
        "fill.Tensor_out(Tensor self, Tensor value, *, Tensor(a!) out) -> Tensor(a!)",
    ),
    node="FillBackward1",
    method=False,
    inplace_method=True,
    inplace_function=True,
)
def fill_tensor(x, value):
    """The 0-d tensor ``value`` in every element."""
    require(
        value.rank == 0,
        f"fill only supports 0-dimension value tensor but got tensor with {value.rank} "
        "dimensions: assign it, x[...] = value",
    )
    return tabulate(x.shape, lambda *p: cast(value[()], x.dtype))


@pointwise(
    "fill.Scalar(Tensor self, Scalar value) -> Tensor",
    out=False,
    forms=(
        "fill.Scalar_out(Tensor self, Scalar value, *, Tensor(a!) out) -> Tensor(a!)",
    ),
    method=False,
    inplace_method=True,
    core=True,
)
def fill_scalar(x, value):
    """``value`` in every element."""
    return cast(value, x.dtype)


@pointwise(
    "zero(Tensor self) -> Tensor",
    out=False,
    forms=("zero.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",),
    function=False,
    method=False,
    inplace_method=True,
    inplace_function=True,
)
def zero(x):
    """Zero in every element."""
    return cast(0, x.dtype)
