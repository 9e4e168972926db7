"""Assertions as ops, for exported graphs; tests of whole tensors of bools."""

from pellucid_compiler.composites import api, composite, has_values, require

_IN_OPS = {"method": False, "function": False}


_ZERO = "Expected Tensor with single nonzero value, but got zero"


@composite(
    "_assert_async.msg(Tensor self, str assert_msg) -> ()", method=False, seen=True
)
@composite("_assert_async(Tensor self) -> ()", method=False, seen=True)
def assert_async(x, assert_msg=_ZERO):
    """Raises RuntimeError with the message if the one element of ``x`` is 0, which a
    Meta tensor does not have.
    """
    require(not has_values(x) or bool(x), "{}", assert_msg)


@composite("_assert_scalar(Scalar self, str assert_msg) -> ()", **_IN_OPS)
def assert_scalar(number, assert_msg):
    """Raises RuntimeError with the message if the number is 0."""
    require(bool(number), "{}", assert_msg)


@composite(
    "_assert_tensor_metadata(Tensor a, SymInt[]? size=None, SymInt[]? stride=None, "
    "ScalarType? dtype=None, *, Device? device=None, Layout? layout=None) -> ()",
    **_IN_OPS,
)
def assert_tensor_metadata(a, size, stride, dtype, *, device, layout):
    """Raises RuntimeError if a fact of ``a`` differs from the given one."""
    facts = {
        "sizes": (size, list(a.shape)),
        "strides": (stride, list(a.stride()) if stride is not None else None),
        "dtype": (dtype, a.dtype),
        "layout": (layout, a.layout),
        "device": (device, a.device),
    }
    for name, (want, is_) in facts.items():
        want = list(want) if isinstance(want, tuple) else want
        require(
            want is None or want == is_,
            "Tensor {} mismatch! Expected: {}, Got: {}",
            name,
            want,
            is_,
        )


_RANGE = "(Scalar size, *, int? min=None, int? max=None) -> ()"


@composite(f"sym_constrain_range{_RANGE}", **_IN_OPS)
def sym_constrain_range(size, *, min, max):
    """Raises RuntimeError if the number is not from ``min`` to ``max``."""
    low, high = -(2**63) if min is None else min, 2**63 - 1 if max is None else max
    require(
        low <= high,
        "Max must be greater than or equal to min. Got min={} max={}",
        low,
        high,
    )
    require(
        low <= size <= high,
        "Invalid value range for {} between [{}, {}].",
        size,
        low,
        high,
    )


@composite(f"sym_constrain_range_for_size{_RANGE}", **_IN_OPS)
def sym_constrain_range_for_size(size, *, min, max):
    """Raises RuntimeError if the size is not from ``min``, or 0, to ``max``."""
    require(
        max is None or max > 2,
        "Max value to constrain_range_for_size must be greater than 2. got: {}",
        max,
    )
    sym_constrain_range(size, min=0 if min is None else min, max=max)


@composite("_is_all_true(Tensor self) -> Tensor")
def is_all_true(x):
    """Whether all elements of a tensor of bools are true."""
    require(x.dtype == api.bool, "_is_all_true takes bools, not {}", x.dtype)
    return x.all()


@composite("_is_any_true(Tensor self) -> Tensor")
def is_any_true(x):
    """Whether an element of a tensor of bools is true."""
    require(x.dtype == api.bool, "_is_any_true takes bools, not {}", x.dtype)
    return x.any()
