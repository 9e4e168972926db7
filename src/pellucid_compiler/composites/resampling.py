"""Resampling to given sizes or by given scale factors."""

from math import floor

from pellucid_compiler.composites import api, composite, require


def _target(x, output_size, scale_factors):
    """The sizes, and per dim the scale factor, or None if sizes are given."""
    require(
        (output_size is None) != (scale_factors is None),
        "upsampling takes either output_size or scale_factors",
    )
    spatial = x.shape[2:]
    numbers = scale_factors if output_size is None else output_size
    require(
        len(numbers) == len(spatial),
        "upsampling: {} numbers for {} dims",
        len(numbers),
        len(spatial),
    )
    if output_size is not None:
        return list(output_size), [None] * len(spatial)
    return [floor(n * s) for n, s in zip(spatial, numbers, strict=True)], numbers


def _with_corners(name, out=False, core=False):
    return composite(
        f"{name}.vec(Tensor input, SymInt[]? output_size, bool align_corners, "
        "float[]? scale_factors) -> Tensor",
        namespace="nn",
        out="vec_out" if out else False,
        core=core,
    )


def _of_nearest(name, out=False, core=False):
    return composite(
        f"{name}.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> "
        "Tensor",
        namespace="nn",
        out="vec_out" if out else False,
        core=core,
    )


def _resampled(name, x, output_size, scale_factors, *corners):
    size, scales = _target(x, output_size, scale_factors)
    return getattr(api.ops.aten, name).default(x, size, *corners, *scales)


@_with_corners("upsample_linear1d")
def upsample_linear1d(x, output_size, corners, scale_factors):
    """Linear interpolation."""
    return _resampled("upsample_linear1d", x, output_size, scale_factors, corners)


@_with_corners("upsample_bilinear2d", out=True, core=True)
def upsample_bilinear2d(x, output_size, corners, scale_factors):
    """Linear interpolation in two dims."""
    return _resampled("upsample_bilinear2d", x, output_size, scale_factors, corners)


@_with_corners("upsample_trilinear3d")
def upsample_trilinear3d(x, output_size, corners, scale_factors):
    """Linear interpolation in three dims."""
    return _resampled("upsample_trilinear3d", x, output_size, scale_factors, corners)


@_with_corners("upsample_bicubic2d")
def upsample_bicubic2d(x, output_size, corners, scale_factors):
    """Cubic convolution."""
    return _resampled("upsample_bicubic2d", x, output_size, scale_factors, corners)


@_of_nearest("upsample_nearest1d")
def upsample_nearest1d(x, output_size, scale_factors):
    """The nearest element."""
    return _resampled("upsample_nearest1d", x, output_size, scale_factors)


@_of_nearest("upsample_nearest2d", out=True, core=True)
def upsample_nearest2d(x, output_size, scale_factors):
    """The nearest pixel."""
    return _resampled("upsample_nearest2d", x, output_size, scale_factors)


@_of_nearest("upsample_nearest3d")
def upsample_nearest3d(x, output_size, scale_factors):
    """The nearest element of a volume."""
    return _resampled("upsample_nearest3d", x, output_size, scale_factors)


@_of_nearest("_upsample_nearest_exact1d")
def _upsample_nearest_exact1d(x, output_size, scale_factors):
    """The element that contains the center."""
    return _resampled("_upsample_nearest_exact1d", x, output_size, scale_factors)


@_of_nearest("_upsample_nearest_exact2d")
def _upsample_nearest_exact2d(x, output_size, scale_factors):
    """The pixel that contains the center."""
    return _resampled("_upsample_nearest_exact2d", x, output_size, scale_factors)


@_of_nearest("_upsample_nearest_exact3d")
def _upsample_nearest_exact3d(x, output_size, scale_factors):
    """The element of a volume that contains the center."""
    return _resampled("_upsample_nearest_exact3d", x, output_size, scale_factors)
