"""Fractional max pooling (random windows), and max unpooling."""

from math import prod

from pellucid_compiler.composites import api, composite, require


def _unpooled(name, x, indices, size):
    dims = len(size)
    require(
        x.dim() in (dims + 1, dims + 2),
        "{}: the input has {} dims; give {} or {}",
        name,
        x.dim(),
        dims + 1,
        dims + 2,
    )
    require(
        indices.shape == x.shape,
        "{}: indices have shape {}, the input {}; they must be equal",
        name,
        indices.shape,
        x.shape,
    )
    leading = x.shape[: x.dim() - dims]
    flat = x.new_zeros((*leading, prod(size)))
    filled = flat.scatter(-1, indices.flatten(-dims), x.flatten(-dims))
    return filled.view(*leading, *size)


@composite(
    "max_unpool2d(Tensor self, Tensor indices, SymInt[2] output_size) -> Tensor",
    namespace="nn",
    out=True,
    seen=True,
    casts_out=False,
)
def max_unpool2d(x, indices, output_size):
    """``x`` at the ``indices`` of a max pooling, 0 elsewhere."""
    return _unpooled("max_unpool2d", x, indices, output_size)


@composite(
    "max_unpool3d(Tensor self, Tensor indices, SymInt[3] output_size, int[3] stride, "
    "int[3] padding) -> Tensor",
    namespace="nn",
    out=True,
    seen=True,
    casts_out=False,
)
def max_unpool3d(x, indices, output_size, stride, padding):
    """``x`` at the ``indices`` of a max pooling, 0 elsewhere."""
    return _unpooled("max_unpool3d", x, indices, output_size)


def _starts(sample, size, out, kernel):
    """The starts of the windows: (N, C, out) for ``sample`` (N, C)."""
    last = api.full_like(sample, size - kernel).long().unsqueeze(-1)
    if out == 1:
        return last
    alpha = (size - kernel) / (out - 1)
    steps = api.arange(out - 1, dtype=sample.dtype, device=sample.device)
    offset = sample.unsqueeze(-1)
    starts = ((steps + offset) * alpha).long() - (offset * alpha).long()
    return api.cat((starts, last), -1)


def _places(name, spatial, kernel, output_size, samples):
    """The flat indices of every window's elements, along the last dim."""
    dims = len(kernel)
    flat = api.zeros((1,) * (2 + 2 * dims), dtype=api.int64, device=samples.device)
    for d, (n, k, out) in enumerate(zip(spatial, kernel, output_size, strict=True)):
        require(
            out + k - 1 <= n,
            "{}: {} windows of {} do not fit a dim of size {}",
            name,
            out,
            k,
            n,
        )
        # The samples list the dims in reverse order.
        starts = _starts(samples[..., dims - 1 - d], n, out, k)
        taps = starts.unsqueeze(-1) + api.arange(k, device=samples.device)
        shape = [*starts.shape[:2]] + [1] * (2 * dims)
        shape[2 + d], shape[2 + dims + d] = out, k
        flat = flat * n + taps.view(shape)
    return flat.flatten(-dims)


def _fractional(name, x, kernel, output_size, samples):
    dims = len(kernel)
    require(
        x.dim() in (dims + 1, dims + 2),
        "{}: the input has {} dims; give {} or {}",
        name,
        x.dim(),
        dims + 1,
        dims + 2,
    )
    batched = x if x.dim() == dims + 2 else x.unsqueeze(0)
    windows = _places(name, batched.shape[2:], kernel, output_size, samples)
    values = batched.flatten(-dims).gather(-1, windows.flatten(2)).view(windows.shape)
    best, which = values.max(-1)
    places = windows.gather(-1, which.unsqueeze(-1)).squeeze(-1)
    if x.dim() == dims + 2:
        return best, places
    return best.squeeze(0), places.squeeze(0)


def _declare(dims):
    options = (
        f"Tensor self, int[{dims}] kernel_size, int[{dims}] output_size, "
        "Tensor random_samples"
    )
    name = f"fractional_max_pool{dims}d"
    return composite(
        f"{name}({options}) -> (Tensor, Tensor)",
        namespace="nn",
        seen=True,
        forms=(
            f"{name}.output({options}, *, Tensor(a!) output, Tensor(b!) indices) -> "
            "(Tensor(a!), Tensor(b!))",
        ),
    )


@_declare(2)
def fractional_max_pool2d(x, kernel, output_size, samples):
    """The greatest elements of randomly placed windows, and their indices (Graham
    2014).
    """
    return _fractional("fractional_max_pool2d", x, kernel, output_size, samples)


@_declare(3)
def fractional_max_pool3d(x, kernel, output_size, samples):
    """The greatest elements of randomly placed windows, and their indices (Graham
    2014).
    """
    return _fractional("fractional_max_pool3d", x, kernel, output_size, samples)
