"""Finite differences, integrals by the trapezoidal rule, gradients on a grid."""

from pellucid_compiler.composites import api, composite, require, widened
from pellucid_compiler.composites.views import wrapped_in


@composite(
    "diff(Tensor self, int n=1, int dim=-1, Tensor? prepend=None, "
    "Tensor? append=None) -> Tensor",
    out=True,
)
def diff(x, n, dim, prepend, append):
    """The ``n``-th differences of adjacent elements along ``dim``."""
    require(x.dim() != 0, "diff takes tensors of at least one dimension")
    require(n >= 0, "diff: n is {}; give a number from 0 on", n)
    for edge in (prepend, append):
        require(
            edge is None or edge.dim() == x.dim(),
            "diff: prepend and append have the dims of the input, which are {}",
            x.dim(),
        )
    differences = x
    if prepend is not None or append is not None:
        joined = api.cat([t for t in (prepend, x, append) if t is not None], dim)
        differences = joined if n else x
    for _ in range(min(n, differences.shape[dim])):
        count = differences.shape[dim] - 1
        after, before = (
            differences.narrow(dim, 1, count),
            differences.narrow(dim, 0, count),
        )
        is_bool = differences.dtype == api.bool
        differences = after.logical_xor(before) if is_bool else after - before
    return differences.clone() if differences is x else differences


@composite("trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor", method=False)
@composite("trapz.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor", method=False)
def trapezoid(y, x, *, dim):
    """The integral by trapezoids along ``dim``, over points ``x``."""
    dim = wrapped_in(y, dim)
    if y.shape[dim] == 0:
        return _no_area(y, dim)
    return (_pairs("trapezoid", y, dim) * _widths("trapezoid", y, x, dim)).sum(dim) / 2


@composite("trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor", method=False)
@composite("trapz.dx(Tensor y, *, float dx=1, int dim=-1) -> Tensor", method=False)
def trapezoid_of_steps(y, *, dx, dim):
    """The integral by trapezoids along ``dim``, in steps ``dx``."""
    dim = wrapped_in(y, dim)
    if y.shape[dim] == 0:
        return _no_area(y, dim)
    _refuse_bool("trapezoid", y)
    _require_real_step("trapezoid", dx)
    return (y.sum(dim) - (y.select(dim, 0) + y.select(dim, -1)) * 0.5) * dx


@composite(
    "cumulative_trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor", method=False
)
def cumulative_trapezoid(y, x, *, dim):
    """The running integral by trapezoids along ``dim``, over points ``x``."""
    dim = wrapped_in(y, dim)
    widths = _widths("cumulative_trapezoid", y, x, dim)
    return (_pairs("cumulative_trapezoid", y, dim) * widths).cumsum(dim) / 2


@composite(
    "cumulative_trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor",
    method=False,
)
def cumulative_trapezoid_of_steps(y, *, dx, dim):
    """The running integral by trapezoids along ``dim``, in steps ``dx``."""
    dim = wrapped_in(y, dim)
    _require_real_step("cumulative_trapezoid", dx)
    return (_pairs("cumulative_trapezoid", y, dim) * (dx / 2)).cumsum(dim)


def _require_real_step(name, dx):
    require(
        not isinstance(dx, (bool, complex)),
        "{}: the step dx is {}, not a real number",
        name,
        dx,
    )


def _no_area(y, dim):
    return y.new_zeros([n for d, n in enumerate(y.shape) if d != dim])


def _pairs(name, y, dim):
    """The sums of adjacent elements along ``dim``."""
    _refuse_bool(name, y)
    count = max(y.shape[dim] - 1, 0)
    return y.narrow(dim, y.shape[dim] - count, count) + y.narrow(dim, 0, count)


def _widths(name, y, x, dim):
    """The distances of adjacent points, with as many dims as ``y``."""
    _refuse_bool(name, x)
    if x.dim() == 1:
        size = y.shape[dim]
        require(
            x.shape[0] == size, "{}: {} points for {} values", name, x.shape[0], size
        )
        x = x.view([size if d == dim else 1 for d in range(y.dim())])
    elif x.dim() < y.dim():
        x = x.view([1] * (y.dim() - x.dim()) + list(x.shape))
    count = max(x.shape[dim] - 1, 0)
    return x.narrow(dim, x.shape[dim] - count, count) - x.narrow(dim, 0, count)


def _refuse_bool(name, x):
    require(
        x.dtype != api.bool,
        "{} does not take bools: convert with .to(torch.int64) or .float()",
        name,
    )


@composite(
    "gradient.scalarint(Tensor self, *, Scalar? spacing=None, int? dim=None, "
    "int edge_order=1) -> Tensor[]",
    method=False,
)
@composite(
    "gradient.scalararray(Tensor self, *, Scalar spacing, int[] dim, "
    "int edge_order=1) -> Tensor[]",
    method=False,
)
def gradient(x, *, spacing, dim, edge_order):
    """Central differences along each of ``dim``, one-sided at the ends; points are
    ``spacing`` apart.
    """
    dims = _gradient_dims(x, dim)
    step = 1 if spacing is None else spacing
    return _gradients(x, [step] * len(dims), dims, edge_order)


@composite(
    "gradient.array(Tensor self, *, int[] dim, int edge_order=1) -> Tensor[]",
    method=False,
)
def gradient_of_ones(x, *, dim, edge_order):
    """``gradient`` of points 1 apart."""
    dims = _gradient_dims(x, dim)
    return _gradients(x, [1] * len(dims), dims, edge_order)


@composite(
    "gradient.scalarrayint(Tensor self, *, Scalar[] spacing, int? dim=None, "
    "int edge_order=1) -> Tensor[]",
    method=False,
)
@composite(
    "gradient.scalarrayarray(Tensor self, *, Scalar[] spacing, int[] dim, "
    "int edge_order=1) -> Tensor[]",
    method=False,
)
@composite(
    "gradient.tensorarrayint(Tensor self, *, Tensor[] spacing, int? dim=None, "
    "int edge_order=1) -> Tensor[]",
    method=False,
)
@composite(
    "gradient.tensorarray(Tensor self, *, Tensor[] spacing, int[] dim, "
    "int edge_order=1) -> Tensor[]",
    method=False,
)
def gradient_of_points(x, *, spacing, dim, edge_order):
    """``gradient`` with a distance, or a vector of coordinates, for each dim."""
    dims = _gradient_dims(x, dim)
    require(
        len(spacing) == len(dims),
        "gradient: {} spacings for {} dims",
        len(spacing),
        len(dims),
    )
    return _gradients(x, spacing, dims, edge_order)


def _gradient_dims(x, dim):
    if dim is None:
        return list(range(x.dim()))
    dims = [wrapped_in(x, d) for d in ([dim] if isinstance(dim, int) else dim)]
    require(len({*dims}) == len(dims), "gradient: dim {} names a dimension twice", dim)
    return dims


def _gradients(x, steps, dims, edge_order):
    _refuse_bool("gradient", x)
    require(x.dtype != api.uint8, "gradient does not take uint8: convert to int64")
    require(edge_order in (1, 2), "gradient: edge_order is 1 or 2, not {}", edge_order)
    for d in dims:
        require(
            x.shape[d] > edge_order,
            "gradient: dim {} has {} elements, and differences of order {} at "
            "the ends need more than {}",
            d,
            x.shape[d],
            edge_order,
            edge_order,
        )
    return tuple(
        _differences(x, step, d, edge_order)
        for step, d in zip(steps, dims, strict=True)
    )


def _differences(x, step, dim, edge_order):
    """Differences of second order inside (Fornberg 1988, uneven steps)."""
    dtype = x.dtype if x.is_floating_point() or x.is_complex() else api.float32
    x = widened(x.to(dtype).movedim(dim, -1))
    gaps = _gaps(x, step)
    slopes = (x[..., 1:] - x[..., :-1]) / gaps
    left, right = gaps[:-1], gaps[1:]
    inside = (slopes[..., :-1] * right + slopes[..., 1:] * left) / (left + right)
    first, last = slopes[..., :1], slopes[..., -1:]
    if edge_order == 2:
        first = _end(slopes, gaps, 0, 1)
        last = _end(slopes, gaps, -1, -2)
    return api.cat((first, inside, last), -1).movedim(-1, dim).to(dtype)


def _gaps(x, step):
    """The distances of adjacent points along the last dim."""
    size = x.shape[-1]
    if not isinstance(step, api.Tensor):
        return api.full((size - 1,), float(step), dtype=x.dtype, device=x.device)
    require(
        step.dim() == 1 and step.shape[0] == size,
        "gradient: coordinates of shape {} for a dim of size {}",
        step.shape,
        size,
    )
    return step[1:] - step[:-1]


def _end(slopes, gaps, edge, inner):
    """The slope at an end of the parabola through the three points there."""
    near, far = slopes[..., edge], slopes[..., inner]
    bend = (near - far) / (gaps[edge] + gaps[inner])
    return (near + bend * gaps[edge]).unsqueeze(-1)
