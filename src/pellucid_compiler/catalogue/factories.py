"""Factories: tensors made from sizes and numbers.

Without ``dtype``, the dtype is the default floating-point dtype or follows from the
numbers. ``layout``, ``device`` and ``pin_memory`` select a backend and do not affect
the values.
"""

from pellucid_compiler.declare import (
    cast,
    ceil,
    const,
    default_dtype,
    factory,
    floor,
    full,
    require,
    require_fits,
    tabulate,
    to,
    where,
)
from pellucid_compiler.ir.dtypes import complex_dtype, is_complex, is_integer

_OPTIONS = (
    "*, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
    "bool? pin_memory=None"
)
_LIKE = f"{_OPTIONS}, MemoryFormat? memory_format=None"


def _require_sizes(size):
    for n in size:
        require(n >= 0, "the size {} is negative", n)


def _filled(size, value, dtype):
    _require_sizes(size)
    return full(size, value, dtype)


@factory(f"zeros(SymInt[] size, {_OPTIONS}) -> Tensor")
def zeros(size, dtype, layout, device, pin_memory):
    """A tensor of zeros."""
    return _filled(size, 0, dtype or default_dtype())


@factory(f"ones(SymInt[] size, {_OPTIONS}) -> Tensor")
def ones(size, dtype, layout, device, pin_memory):
    """A tensor of ones."""
    return _filled(size, 1, dtype or default_dtype())


@factory(f"full(SymInt[] size, Scalar fill_value, {_OPTIONS}) -> Tensor", core=True)
def full_op(size, fill_value, dtype, layout, device, pin_memory):
    """All ``fill_value``."""
    dtype = dtype or _dtype_of_number(fill_value)
    require_fits("full", fill_value, dtype)
    return _filled(size, fill_value, dtype)


def _dtype_of_number(*numbers):
    """The dtype that PyTorch infers from several Python numbers."""
    kinds = {const(0).dtype if isinstance(n, int) else n.dtype for n in numbers}
    if "weakcomplex" in kinds:
        return complex_dtype(default_dtype())
    if kinds & {"weakfloat", "float32", "float64"}:
        return default_dtype()
    return "bool" if kinds == {"bool"} else "int64"


@factory(f"zeros_like(Tensor self, {_LIKE}) -> Tensor")
def zeros_like(x, dtype, layout, device, pin_memory, memory_format):
    """Zeros with the shape and dtype of x."""
    return full(x.shape, 0, dtype or x.dtype)


@factory(f"ones_like(Tensor self, {_LIKE}) -> Tensor")
def ones_like(x, dtype, layout, device, pin_memory, memory_format):
    """Ones with the shape and dtype of x."""
    return full(x.shape, 1, dtype or x.dtype)


@factory(f"full_like(Tensor self, Scalar fill_value, {_LIKE}) -> Tensor", core=True)
def full_like(x, fill_value, dtype, layout, device, pin_memory, memory_format):
    """``fill_value`` everywhere, with the shape and dtype of x."""
    require_fits("full_like", fill_value, dtype or x.dtype)
    return full(x.shape, fill_value, dtype or x.dtype)


@factory(
    f"new_zeros(Tensor self, SymInt[] size, {_OPTIONS}) -> Tensor",
    method=True,
    function=False,
)
def new_zeros(x, size, dtype, layout, device, pin_memory):
    """A tensor of zeros with x's dtype and device."""
    return _filled(size, 0, dtype or x.dtype)


@factory(
    f"new_ones(Tensor self, SymInt[] size, {_OPTIONS}) -> Tensor",
    method=True,
    function=False,
)
def new_ones(x, size, dtype, layout, device, pin_memory):
    """A tensor of ones with x's dtype and device."""
    return _filled(size, 1, dtype or x.dtype)


@factory(
    f"new_full(Tensor self, SymInt[] size, Scalar fill_value, {_OPTIONS}) -> Tensor",
    method=True,
    function=False,
)
def new_full(x, size, fill_value, dtype, layout, device, pin_memory):
    """``fill_value`` everywhere, of x's dtype."""
    require_fits("new_full", fill_value, dtype or x.dtype)
    return _filled(size, fill_value, dtype or x.dtype)


@factory(f"arange(Scalar end, {_OPTIONS}) -> Tensor")
def arange(end, dtype, layout, device, pin_memory):
    """0, 1, ... below ``end``."""
    return _range(const(0), end, const(1), dtype)


@factory(f"arange.start(Scalar start, Scalar end, {_OPTIONS}) -> Tensor", out=False)
def arange_start(start, end, dtype, layout, device, pin_memory):
    """``start``, ``start + 1``, ... below ``end``."""
    return _range(start, end, const(1), dtype)


@factory(
    f"arange.start_step(Scalar start, Scalar end, Scalar step=1, {_OPTIONS}) -> Tensor",
    out="start_out",
    core=True,
)
def arange_step(start, end, step, dtype, layout, device, pin_memory):
    """``start``, ``start + step``, ... before ``end``."""
    return _range(start, end, step, dtype)


@factory(
    f"range.step(Scalar start, Scalar end, Scalar step=1, {_OPTIONS}) -> Tensor",
    out="out",
    function=False,
    rare=True,
)
def range_step(start, end, step, dtype, layout, device, pin_memory):
    """``start``, ``start + step``, ... up to ``end``, which is included."""
    require(step != 0, "range: step must not be 0")
    require(
        ((step > 0) & (end >= start)) | ((step < 0) & (end <= start)),
        "range: upper bound and lower bound inconsistent with step sign: step {} does "
        "not lead from {} to {}",
        step,
        start,
        end,
    )
    dtype = dtype or default_dtype()
    _refuse_bools("range", dtype)
    exact = "int64" if is_integer(dtype) else "float64"
    first, last, stride = (to(n, exact) for n in (start, end, step))
    count = cast(floor((last - first) / stride), "int64") + 1
    return tabulate([count], lambda i: cast(first + stride * cast(i, exact), dtype))


@factory(
    f"range(Scalar start, Scalar end, {_OPTIONS}) -> Tensor",
    out="out_",
    function=False,
    rare=True,
)
def range_op(start, end, dtype, layout, device, pin_memory):
    """``start``, ``start + 1``, ... up to ``end``, which is included."""
    return range_step.function(start, end, const(1), dtype, layout, device, pin_memory)


def _refuse_bools(name, dtype):
    require(
        dtype != "bool",
        f"{name} does not count in bools; give an integer's dtype and compare with 0",
        error=NotImplementedError,
    )


def _range(start, end, step, dtype):
    numbers = "real numbers" if dtype is None else "real dtypes"
    require(
        not is_complex(dtype or _dtype_of_number(start, end, step)),
        f"arange takes {numbers}, not complex ones",
        error=RuntimeError if dtype is None else NotImplementedError,
    )
    dtype = dtype or _dtype_of_number(start, end, step)
    _refuse_bools("arange", dtype)
    require(
        ((step >= 0) & (end >= start)) | ((step <= 0) & (end <= start)),
        "arange: upper bound and lower bound inconsistent with step sign: step {} does "
        "not lead from {} to {}",
        step,
        start,
        end,
    )
    if dtype == "int64":
        start, end, step = (to(n, dtype) for n in (start, end, step))
    require(step != 0, "arange: step must not be 0")
    if dtype == "int64":
        rounding = where(step > 0, step - 1, step + 1)
        count = (end - start + rounding) // step
    else:
        count = cast(ceil(cast(end - start, "float64") / step), "int64")
    exact = "float64" if dtype.startswith(("float", "bfloat")) else "int64"
    first, stride = to(start, exact), to(step, exact)
    return tabulate([count], lambda i: cast(first + stride * cast(i, exact), dtype))


@factory(
    f"linspace(Scalar start, Scalar end, int steps, {_OPTIONS}) -> Tensor",
    symbolic=("steps",),
)
def linspace(start, end, steps, dtype, layout, device, pin_memory):
    """``steps`` equally spaced numbers from ``start`` to ``end``.

    The second half is computed from ``end``, so that both ends are exact.
    """
    require(steps >= 0, "linspace: steps {} is negative", steps)
    return _spaced("linspace", start, end, steps, dtype, lambda x: x)


@factory(
    f"logspace(Scalar start, Scalar end, int steps, float base=10.0, {_OPTIONS}) "
    "-> Tensor",
    symbolic=("steps",),
)
def logspace(start, end, steps, base, dtype, layout, device, pin_memory):
    """``base`` to the powers of ``linspace``."""
    require(steps >= 0, "logspace: steps {} is negative", steps)
    return _spaced("logspace", start, end, steps, dtype, lambda x: base**x)


def _spaced(name, start, end, steps, dtype, of):
    suggested = _dtype_of_number(start, end)
    has_complex = is_complex(suggested)
    dtype = dtype or (suggested if has_complex else default_dtype())
    require(
        is_complex(dtype) or not has_complex,
        f"{name}: complex numbers do not fit into {dtype}; give a complex dtype",
    )
    exact = "complex128" if has_complex else "float64"
    only = to(start, exact)  # of one step, also if the dtype is an integer's
    if is_integer(dtype):
        require_fits(name, start, dtype)
        require_fits(name, end, dtype)
        start, end = cast(start, dtype), cast(end, dtype)
    first, last = to(start, exact), to(end, exact)
    gap = (last - first) / to(where(steps > 1, steps - 1, 1), exact)

    def element(i):
        ahead = first + gap * cast(i, exact)
        back = last - gap * cast(steps - 1 - i, exact)
        return cast(
            of(where(i < steps // 2, ahead, where(steps == 1, only, back))), dtype
        )

    return tabulate([steps], element)


@factory(f"eye(SymInt n, {_OPTIONS}) -> Tensor")
def eye(n, dtype, layout, device, pin_memory):
    """The identity matrix."""
    return _identity(n, n, dtype)


@factory(f"eye.m(SymInt n, SymInt m, {_OPTIONS}) -> Tensor")
def eye_m(n, m, dtype, layout, device, pin_memory):
    """Ones on the diagonal of n rows and m columns."""
    return _identity(n, m, dtype)


def _identity(n, m, dtype):
    _require_sizes([n, m])
    return tabulate([n, m], lambda i, j: cast(i == j, dtype or default_dtype()))


@factory(f"scalar_tensor(Scalar s, {_OPTIONS}) -> Tensor", core=True)
def scalar_tensor(s, dtype, layout, device, pin_memory):
    """A tensor of rank 0 that holds ``s``."""
    return full([], s, dtype or default_dtype())
