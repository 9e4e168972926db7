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
    taps = {
        _BILINEAR: sampler.linear_taps,
        _NEAREST: sampler.nearest_tap,
        _BICUBIC: sampler.cubic_taps,
    }[mode]
    return sampler.summed([taps(p, d) for d, p in enumerate(places)])


class _Sampler:
    """Weighted elements of images at real coordinates.

    A tap of a dim is (whether it is inside, its index there, its weight); an element is
    one tap of each dim.
    """

    def __init__(self, x, padding, align_corners):
        self.input = x
        self.sizes = list(x.shape[2:])
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

    def tap(self, place, weight, d):
        """The tap at an integer coordinate."""
        last = self.sizes[d] - 1
        index = place.detach().clamp(0, last).nan_to_num(0.0).long()
        return (place >= 0) & (place <= last), index, weight

    def nearest_tap(self, place, d):
        place = self.padded(place, d)
        # The weight depends on the grid, so that its gradient is zeros.
        return [self.tap(place.round(), api.fill(place, 1), d)]

    def linear_taps(self, place, d):
        place = self.padded(place, d)
        low = place.detach().floor()
        return [
            self.tap(low, low + 1 - place, d),
            self.tap(low + 1, place - low, d),
        ]

    def cubic_taps(self, place, d):
        low = place.detach().floor()
        return [
            self.tap(self.padded(low + (k - 1), d), weight, d)
            for k, weight in enumerate(_cubic_weights(place - low))
        ]

    def summed(self, taps):
        """The weighted elements' sums (N, C, ...) for the taps of each dim."""
        places, weights = [], []
        for inside, index, weight in taps[0]:
            self._append(places, weights, taps[1:], inside, index, weight)
        found = api._C._pellucid._weighted_elements(
            self.input.flatten(2), api.stack(places, 1), api.stack(weights, 1)
        )
        return found.view(*self.input.shape[:2], *taps[0][0][1].shape[1:])

    def _append(self, places, weights, others, inside, index, weight):
        """Append the flat indices, -1 outside the image, and weights of all elements
        that begin with the given tap.
        """
        if not others:
            places.append(api.where(inside, index, -1).flatten(1))
            weights.append(weight.flatten(1))
            return
        size = self.sizes[len(self.sizes) - len(others)]
        for holds, whole, part in others[0]:
            self._append(
                *(places, weights, others[1:]),
                *(inside & holds, index * size + whole, weight * part),
            )


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
