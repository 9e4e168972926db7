"""Sampling of images at the coordinates of a grid, and the grids of affine maps."""

from pellucid_compiler.composites import api, composite, require

_BILINEAR, _NEAREST, _BICUBIC = range(3)
_ZEROS, _BORDER, _REFLECTION = range(3)
_OPTIONS = (
    "Tensor input, Tensor grid, int interpolation_mode, int padding_mode, "
    "bool align_corners"
)


@composite(f"grid_sampler({_OPTIONS}) -> Tensor", method=False, autocast="float32")
def grid_sampler(x, grid, *options):
    """``x`` (N, C, ...) at the coordinates ``grid`` (N, ..., dims), from -1 to 1."""
    require(
        x.dim() in (4, 5),
        "grid_sampler: an input of shape {}; give 4 or 5 dims",
        x.shape,
    )
    aten = api.ops.aten
    op = aten.grid_sampler_2d if x.dim() == 4 else aten.grid_sampler_3d
    return op(x, grid, *options)


@composite(
    f"grid_sampler_2d({_OPTIONS}) -> Tensor",
    method=False,
    out=True,
    seen=True,
    core=True,
    backward=f"grid_sampler_2d_backward(Tensor grad_output, {_OPTIONS}, "
    "bool[2] output_mask) -> (Tensor, Tensor)",
    backward_out="out",
)
def grid_sampler_2d(x, grid, mode, padding, align_corners):
    """``grid_sampler`` of images."""
    return _sampled(x, grid, mode, padding, align_corners, 2)


@composite(
    f"grid_sampler_3d({_OPTIONS}) -> Tensor",
    method=False,
    out=True,
    seen=True,
    backward=f"grid_sampler_3d_backward(Tensor grad_output, {_OPTIONS}, "
    "bool[2] output_mask) -> (Tensor, Tensor)",
    backward_out="out",
)
def grid_sampler_3d(x, grid, mode, padding, align_corners):
    """``grid_sampler`` of volumes."""
    require(mode != _BICUBIC, "grid_sampler: bicubic is for inputs of 4 dimensions")
    return _sampled(x, grid, mode, padding, align_corners, 3)


def _sampled(x, grid, mode, padding, align_corners, dims):
    require(
        mode in (_BILINEAR, _NEAREST, _BICUBIC) and padding in range(3),
        "grid_sampler: there is no mode {} with padding {}",
        mode,
        padding,
    )
    require(
        x.dim() == grid.dim() == dims + 2 and grid.shape[-1] == dims,
        "grid_sampler: an input of shape {} does not fit a grid of shape {}",
        x.shape,
        grid.shape,
    )
    require(
        x.shape[0] == grid.shape[0],
        "grid_sampler: {} inputs for {} grids",
        x.shape[0],
        grid.shape[0],
    )
    sampler = _Sampler(x, padding, align_corners)
    # The grid lists the dims in reverse order.
    places = [sampler.place(grid[..., dims - 1 - d], d) for d in range(dims)]
    if mode == _BICUBIC:
        return sampler.cubic(places)
    places = [sampler.padded(p, d) for d, p in enumerate(places)]
    if mode == _NEAREST:
        # Zeros that depend on the grid, so that its gradient is zeros.
        return sampler.at([p.round() for p in places], api.fill(grid.sum(), 0))
    return sampler.linear(places)


class _Sampler:
    """Elements of images at integer or real coordinates."""

    def __init__(self, x, padding, align_corners):
        self.input = x
        self.sizes = list(x.shape[2:])
        self.flat = x.flatten(2)
        self.padding = padding
        self.align_corners = align_corners

    def place(self, coordinate, d):
        n = self.sizes[d]
        if self.align_corners:
            return (coordinate + 1) * ((n - 1) / 2)
        return ((coordinate + 1) * n - 1) / 2

    def padded(self, place, d):
        """``place`` moved into the image, unless the image is zero-padded."""
        n = self.sizes[d]
        if self.padding == _ZEROS:
            return place
        if self.padding == _REFLECTION:
            low, span = (0.0, n - 1.0) if self.align_corners else (-0.5, float(n))
            if span == 0:
                return api.zeros_like(place)
            distance = place - low
            distance = api.where(distance < 0, -distance, distance)
            extra = distance.fmod(span)
            flips = (distance / span).floor() % 2 == 0
            place = api.where(flips, extra + low, span - extra + low)
        # NaN becomes the first coordinate; coordinates on the border do not move.
        place = place.nan_to_num(0.0, n - 1.0, 0.0)
        return api._C._nn.hardtanh(place, 0.0, n - 1.0)

    def at(self, places, zero=0):
        """The elements (N, C, ...) at integer coordinates (N, ...); ``zero``
        outside.
        """
        inside = index = None
        for d, place in enumerate(places):
            n = self.sizes[d]
            holds = (place >= 0) & (place <= n - 1)
            inside = holds if inside is None else inside & holds
            whole = place.detach().clamp(0, n - 1).nan_to_num(0.0).long()
            index = whole if index is None else index * n + whole
        batch, channels = self.input.shape[:2]
        wide = index.reshape(batch, 1, -1).expand(batch, channels, -1)
        elements = self.flat.gather(2, wide)
        elements = elements.view(batch, channels, *index.shape[1:])
        return elements.masked_fill(~inside.unsqueeze(1), zero)

    def linear(self, places):
        lows = [p.detach().floor() for p in places]
        terms = []
        for corner in range(2 ** len(places)):
            weight, spots = 1, []
            for d, (p, low) in enumerate(zip(places, lows, strict=True)):
                high = corner >> d & 1
                spots.append(low + high)
                weight = weight * (p - low if high else low + 1 - p)
            terms.append(self.at(spots) * weight.unsqueeze(1))
        return sum(terms[1:], start=terms[0])

    def cubic(self, places):
        lows = [p.detach().floor() for p in places]
        weights = [_cubic_weights(p - low) for p, low in zip(places, lows, strict=True)]
        terms = []
        for i in range(4):
            row = self.padded(lows[0] + (i - 1), 0)
            for j in range(4):
                column = self.padded(lows[1] + (j - 1), 1)
                weight = weights[0][i] * weights[1][j]
                terms.append(self.at([row, column]) * weight.unsqueeze(1))
        return sum(terms[1:], start=terms[0])


def _cubic_weights(t):
    """The four weights of cubic convolution at ``t``, a = -0.75 (Keys 1981)."""
    a = -0.75

    def near(d):
        return ((a + 2) * d - (a + 3)) * d * d + 1

    def far(d):
        return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a

    return [far(t + 1), near(t), near(1 - t), far(2 - t)]


@composite(
    "affine_grid_generator(Tensor theta, SymInt[] size, bool align_corners) -> Tensor",
    method=False,
    out=True,
    seen=True,
)
def affine_grid_generator(theta, size, align_corners):
    """The coordinates to which the affine maps ``theta`` map the pixels of an image.

    ``theta`` is (N, 2, 3) for ``size`` (N, C, H, W), (N, 3, 4) for (N, C, D, H, W).
    """
    dims = len(size) - 2
    require(
        dims in (2, 3),
        "affine_grid_generator: size has {} numbers; give 4 or 5",
        len(size),
    )
    spatial, kind = size[2:], {"dtype": theta.dtype, "device": theta.device}
    axes = []
    for n in spatial:
        line = api.linspace(-1, 1, n, **kind) if n > 1 else api.zeros(1, **kind)
        axes.append(line if align_corners else line * (n - 1) / n)
    places = api.meshgrid(*axes, indexing="ij")
    ones = api.ones(spatial, **kind)
    base = api.stack([*reversed(places), ones], -1).reshape(-1, dims + 1)
    coordinates = base @ theta.transpose(1, 2)
    return coordinates.reshape(theta.shape[0], *spatial, dims)
