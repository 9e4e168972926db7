"""Comparisons, logic and bits, element by element."""

from pellucid_compiler.catalogue.number_forms import (
    number_first_forms,
    number_forms,
)
from pellucid_compiler.declare import (
    bitand,
    bitor,
    bitxor,
    pointwise,
    require,
    shift_left,
    shift_right,
    to,
)


@pointwise(
    "eq.Tensor(Tensor self, Tensor other) -> Tensor",
    numbers=("other",),
    out="Tensor_out",
    forms=number_forms("eq"),
    core=("eq.Tensor", "eq.Scalar"),
)
def eq(x, y):
    """``x == y``."""
    return x == y


@pointwise(
    "ne.Tensor(Tensor self, Tensor other) -> Tensor",
    numbers=("other",),
    out="Tensor_out",
    forms=number_forms("ne"),
    aliases=("not_equal",),
    core=("ne.Tensor", "ne.Scalar"),
)
def ne(x, y):
    """``x != y``."""
    return x != y


@pointwise(
    "lt.Tensor(Tensor self, Tensor other) -> Tensor",
    numbers=("other",),
    out="Tensor_out",
    forms=number_forms("lt"),
    aliases=("less",),
    core=("lt.Tensor", "lt.Scalar"),
)
def lt(x, y):
    """``x < y``."""
    return x < y


@pointwise(
    "le.Tensor(Tensor self, Tensor other) -> Tensor",
    numbers=("other",),
    out="Tensor_out",
    forms=number_forms("le"),
    aliases=("less_equal",),
    core=("le.Tensor", "le.Scalar"),
)
def le(x, y):
    """``x <= y``."""
    return x <= y


@pointwise(
    "gt.Tensor(Tensor self, Tensor other) -> Tensor",
    numbers=("other",),
    out="Tensor_out",
    forms=number_forms("gt"),
    aliases=("greater",),
    core=("gt.Tensor", "gt.Scalar"),
)
def gt(x, y):
    """``x > y``."""
    return x > y


@pointwise(
    "ge.Tensor(Tensor self, Tensor other) -> Tensor",
    numbers=("other",),
    out="Tensor_out",
    forms=number_forms("ge"),
    aliases=("greater_equal",),
    core=("ge.Tensor", "ge.Scalar"),
)
def ge(x, y):
    """``x >= y``."""
    return x >= y


def _truth(x):
    return x if x.dtype == "bool" else x != 0


@pointwise(
    "logical_and(Tensor self, Tensor other) -> Tensor", unrecorded=(0,), core=True
)
def logical_and_op(x, y):
    """Whether both are nonzero."""
    return _truth(x) & _truth(y)


@pointwise(
    "logical_or(Tensor self, Tensor other) -> Tensor", unrecorded=(0,), core=True
)
def logical_or_op(x, y):
    """Whether one is nonzero."""
    return _truth(x) | _truth(y)


@pointwise(
    "logical_xor(Tensor self, Tensor other) -> Tensor", unrecorded=(0,), core=True
)
def logical_xor(x, y):
    """Whether just one is nonzero."""
    return _truth(x) != _truth(y)


@pointwise(
    "logical_not(Tensor self) -> Tensor",
    inplace_function=False,
    unrecorded=(0,),
    core=True,
)
def logical_not_op(x):
    """Whether x is zero."""
    return ~_truth(x)


def _refuse_floats(name, *operands, error=NotImplementedError):
    require(
        not any(x.dtype.startswith(("float", "bfloat", "weakfloat")) for x in operands),
        f"{name} takes integer and bool tensors only: convert with .to(torch.int64)",
        error=error,
    )


@pointwise(
    "bitwise_and.Tensor(Tensor self, Tensor other) -> Tensor",
    numbers=("other",),
    out="Tensor_out",
    forms=(*number_forms("bitwise_and"), *number_first_forms("bitwise_and")),
    core=("bitwise_and.Tensor", "bitwise_and.Scalar"),
)
def bitwise_and(x, y):
    """The bits set in both; logic for bools."""
    _refuse_floats("bitwise_and", x, y)
    return bitand(x, y)


@pointwise(
    "bitwise_or.Tensor(Tensor self, Tensor other) -> Tensor",
    numbers=("other",),
    out="Tensor_out",
    forms=(*number_forms("bitwise_or"), *number_first_forms("bitwise_or")),
    core=("bitwise_or.Tensor", "bitwise_or.Scalar"),
)
def bitwise_or(x, y):
    """The bits set in one or both; logic for bools."""
    _refuse_floats("bitwise_or", x, y)
    return bitor(x, y)


@pointwise(
    "bitwise_xor.Tensor(Tensor self, Tensor other) -> Tensor",
    numbers=("other",),
    out="Tensor_out",
    forms=(*number_forms("bitwise_xor"), *number_first_forms("bitwise_xor")),
    core=("bitwise_xor.Tensor", "bitwise_xor.Scalar"),
)
def bitwise_xor(x, y):
    """The bits set in just one; logic for bools."""
    _refuse_floats("bitwise_xor", x, y)
    return bitxor(x, y)


@pointwise(
    "bitwise_not(Tensor self) -> Tensor",
    inplace_function=False,
    core=True,
    casts_out=False,
)
def bitwise_not(x):
    """All bits flipped; logic for bools."""
    _refuse_floats("bitwise_not", x, error=TypeError)
    return ~x if x.dtype == "bool" else bitxor(x, to(-1, x.dtype))


def _shift_forms(name):
    return (*number_forms(name, "Tensor_Scalar"), *number_first_forms(name))


@pointwise(
    "bitwise_left_shift.Tensor(Tensor self, Tensor other) -> Tensor",
    numbers=("other",),
    out="Tensor_out",
    forms=_shift_forms("bitwise_left_shift"),
    refuses=("bool",),
)
def bitwise_left_shift(x, y):
    """``x * 2 ** y``; 0 for a shift of the whole width or more."""
    _refuse_floats("bitwise_left_shift", x, y)
    return shift_left(x, y)


@pointwise(
    "bitwise_right_shift.Tensor(Tensor self, Tensor other) -> Tensor",
    numbers=("other",),
    out="Tensor_out",
    forms=_shift_forms("bitwise_right_shift"),
    refuses=("bool",),
)
def bitwise_right_shift(x, y):
    """``floor(x / 2 ** y)``."""
    _refuse_floats("bitwise_right_shift", x, y)
    return shift_right(x, y)
