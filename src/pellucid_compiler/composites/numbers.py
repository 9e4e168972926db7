"""Tensors as Python numbers, and queries that do not return tensors.

Methods that the runtime implements (``x.item()``) are declared here for their functions
and for ``torch.ops``, and so are the conversions of TorchScript (``aten::Int``).
"""

from pellucid_compiler.abi.dtypes import raise_category
from pellucid_compiler.composites import api, composite, require

_IN_OPS = {"method": False, "function": False}


@composite(
    "_local_scalar_dense(Tensor self) -> Scalar",
    **_IN_OPS,
    tags="data_dependent_output",
    core=True,
)
@composite("item(Tensor self) -> Scalar", **_IN_OPS, tags="data_dependent_output")
@composite("ScalarImplicit(Tensor a) -> Scalar", **_IN_OPS)
def item(x):
    """The only element, as a number."""
    return x.item()


@composite("Bool.Tensor(Tensor a) -> bool", **_IN_OPS)
def as_bool(x):
    """Whether the only element is not zero."""
    return bool(x)


@composite("Int.Tensor(Tensor a) -> int", **_IN_OPS)
@composite("IntImplicit(Tensor a) -> int", **_IN_OPS)
def as_int(x):
    """The only element without its fraction."""
    return int(x)


@composite("Float.Tensor(Tensor a) -> float", **_IN_OPS)
@composite("FloatImplicit(Tensor a) -> float", **_IN_OPS)
def as_float(x):
    """The only element, as a float."""
    return float(x)


@composite("ComplexImplicit(Tensor a) -> complex", **_IN_OPS)
def as_complex(x):
    """The only element, as a complex number."""
    return complex(x)


@composite("Complex.Tensor_Tensor(Tensor a, Tensor b) -> complex", **_IN_OPS)
@composite("Complex.Tensor_float(Tensor x, float y) -> complex", **_IN_OPS)
@composite("Complex.Tensor_int(Tensor x, int y) -> complex", **_IN_OPS)
@composite("Complex.Tensor_bool(Tensor x, bool y) -> complex", **_IN_OPS)
@composite("Complex.float_Tensor(float x, Tensor y) -> complex", **_IN_OPS)
@composite("Complex.int_Tensor(int x, Tensor y) -> complex", **_IN_OPS)
@composite("Complex.bool_Tensor(bool x, Tensor y) -> complex", **_IN_OPS)
def of_parts(x, y):
    """``x + i y``."""
    return complex(float(x), float(y))


@composite("is_nonzero(Tensor self) -> bool")
def is_nonzero(x):
    """Whether the only element is not zero."""
    many = "more than one value" if x.numel() else "no values"
    require(
        x.numel() == 1,
        "Boolean value of Tensor with {} is ambiguous: use any() or all()",
        many,
    )
    return bool(x)


@composite("equal(Tensor self, Tensor other) -> bool", tags="data_dependent_output")
def equal(x, y):
    """Whether shapes and all elements are equal."""
    return x.shape == y.shape and bool((x == y).all())


@composite(
    "allclose(Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, "
    "bool equal_nan=False) -> bool",
    tags="data_dependent_output",
)
def allclose(x, y, rtol, atol, equal_nan):
    """Whether all elements are close by ``isclose``."""
    return bool(api.isclose(x, y, rtol, atol, equal_nan).all())


@composite(
    "result_type.Scalar_Scalar(Scalar scalar1, Scalar scalar2) -> ScalarType",
    method=False,
)
@composite(
    "result_type.Scalar_Tensor(Scalar scalar, Tensor tensor) -> ScalarType",
    method=False,
)
@composite(
    "result_type.Scalar(Tensor tensor, Scalar other) -> ScalarType", method=False
)
@composite(
    "result_type.Tensor(Tensor tensor, Tensor other) -> ScalarType", method=False
)
def result_type(first, second):
    """The dtype of arithmetic on these two tensors or numbers.

    Products of bools are bools, unlike sums.
    """
    pairs = sorted(map(_weight_and_dtype, (first, second)), key=_weight)
    (weight, dtype), (other_weight, other) = pairs
    if weight == other_weight:
        return api.promote_types(dtype, other)
    return _with_category(dtype, other)


def _with_category(dtype, weaker):
    """``dtype``, promoted to the category of the weaker operand if that is higher."""
    deciding, other = (str(each).removeprefix("torch.") for each in (dtype, weaker))
    common = raise_category(deciding, other)
    require(
        common is not None,
        "promotion of {} and {} is not supported: convert one with .to()",
        dtype,
        weaker,
    )
    return getattr(api, common)


def _weight_and_dtype(operand):
    """Tensors with dims take precedence over 0-d tensors, and these over numbers."""
    if isinstance(operand, api.Tensor):
        return (0 if operand.dim() else 1), operand.dtype
    if isinstance(operand, bool):
        return 2, api.bool
    if isinstance(operand, int):
        return 2, api.int64
    default = api.get_default_dtype()
    return 2, default.to_complex() if isinstance(operand, complex) else default


def _weight(pair):
    return pair[0]
