"""The functions of ``torch.fft``: sizes, dims and norms of discrete Fourier transforms.

The transforms themselves are three linear ops (``catalogue/fourier.py``), so gradients
of any order follow. Read next: spectra.py.
"""

from pellucid_compiler.composites import api, composite, require

# The numbers of normalizations: none, by the root of the count, by the count.
_FACTORS = {
    True: {None: 0, "backward": 0, "ortho": 1, "forward": 2},
    False: {None: 2, "backward": 2, "ortho": 1, "forward": 0},
}


def _factor(norm, forward):
    require(
        norm in _FACTORS[forward],
        "fft: there is no norm {!r}: give 'forward', 'backward' or 'ortho'",
        norm,
    )
    return _FACTORS[forward][norm]


def _floating(x):
    """``x``, converted to the default dtype if it has integers."""
    if x.is_floating_point() or x.is_complex():
        return x
    return x.to(api.get_default_dtype())


def _complex(x):
    x = _floating(x)
    return x if x.is_complex() else x.to(x.dtype.to_complex())


def _real(name, x):
    require(
        not x.is_complex(),
        "{} takes a real tensor, not one of {}: give its real part, or "
        "call a complex transform",
        name,
        x.dtype,
    )
    return _floating(x)


def _resized(x, dims, sizes):
    """``x`` cropped or zero-padded at the end along ``dims`` to ``sizes``."""
    for dim, size in zip(dims, sizes, strict=True):
        missing = size - x.size(dim)
        if missing < 0:
            x = x.narrow(dim, 0, size)
        elif missing > 0:
            counts = [0] * (2 * (x.dim() - dim))
            counts[-1] = missing
            x = api.constant_pad_nd(x, counts, 0)
    return x


def _require_points(name, counts):
    for count in counts:
        require(count >= 1, "{}: there is no transform of {} points", name, count)


def _front_dim(x, dim):
    """``dim``, counted from the front."""
    rank = max(x.dim(), 1)
    require(
        -rank <= dim < rank,
        "fft: the dimension {} is out of range for a tensor of rank {}",
        dim,
        x.dim(),
        error=IndexError,
    )
    require(
        x.dim() > 0,
        "fft: a tensor of rank 0 has no dimension to transform",
        error=IndexError,
    )
    return dim % rank


def dims_and_sizes(name, x, s, dim):
    """The dims, counted from the front, and their requested sizes."""
    if dim is None:
        count = x.dim() if s is None else len(s)
        require(
            count <= x.dim(),
            "{}: {} sizes for a tensor of rank {}: give at most one per dimension",
            name,
            count,
            x.dim(),
        )
        dims = list(range(x.dim() - count, x.dim()))
    else:
        dims = [_front_dim(x, d) for d in dim]
    require(
        len({*dims}) == len(dims),
        "{}: the dimensions {} repeat: name each once",
        name,
        dims,
    )
    requested = [-1] * len(dims) if s is None else s
    require(
        len(requested) == len(dims),
        "{}: {} sizes for {} dimensions: give one for each",
        name,
        len(requested),
        len(dims),
    )
    pairs = zip(dims, requested, strict=True)
    return dims, [x.size(d) if size == -1 else size for d, size in pairs]


def _nonempty_dims(name, x, s, dim):
    """``dims_and_sizes``, with at least one dim."""
    dims, sizes = dims_and_sizes(name, x, s, dim)
    require(dims, "{} transforms at least one dimension: none was given", name)
    return dims, sizes


def _real_sizes(name, x, s, dim):
    """``_nonempty_dims``, the last size being that of the real result."""
    dims, sizes = _nonempty_dims(name, x, s, dim)
    if s is None or s[-1] == -1:
        sizes[-1] = 2 * (x.size(dims[-1]) - 1)
    return dims, sizes


def _to_complex(name, x, dims, sizes, norm, forward):
    factor = _factor(norm, forward)
    x = _floating(x)
    _require_points(name, sizes)
    x = _resized(x, dims, sizes)
    if not x.is_complex() and forward and dims:
        return api._fft_r2c(x, dims, factor, False)
    return api._fft_c2c(_complex(x), dims, factor, forward)


def _to_half(name, x, dims, sizes, factor):
    """The first half along the last of ``dims`` of a real tensor's spectrum."""
    x = _real(name, x)
    _require_points(name, sizes)
    return api._fft_r2c(_resized(x, dims, sizes), dims, factor, True)


def _from_half(name, x, dims, sizes, factor):
    """The real tensor of ``sizes`` whose half spectrum is ``x``."""
    _require_points(name, sizes)
    halved = [*sizes[:-1], sizes[-1] // 2 + 1]
    x = _resized(_complex(x), dims, halved)
    return api._fft_c2r(x, dims, factor, sizes[-1])


# One dimension


def _one_dim(name):
    """The declaration of a transform along one dimension."""
    schema = f"{name}(Tensor self, SymInt? n=None, int dim=-1, str? norm=None)"
    return composite(f"{schema} -> Tensor", namespace="fft", out=True)


@_one_dim("fft_fft")
def fft(x, n, dim, norm):
    """The spectrum along ``dim``: element j is the sum of ``x[k] e^(-2πi jk/n)``.

    ``n`` crops the dimension or pads it with zeros. ``norm`` divides by n
    (``"forward"``) or by its root (``"ortho"``); ``"backward"`` leaves that to
    ``ifft``. Raises IndexError for a dimension that does not exist, RuntimeError for
    ``n < 1`` or an unknown norm::

        torch.fft.fft(torch.tensor([1.0, 0, 0, 0]))  # four ones
    """
    at = _front_dim(x, dim)
    return _to_complex("fft", x, [at], [x.size(at) if n is None else n], norm, True)


@_one_dim("fft_ifft")
def ifft(x, n, dim, norm):
    """The inverse of ``fft`` with the same ``norm``."""
    at = _front_dim(x, dim)
    return _to_complex("ifft", x, [at], [x.size(at) if n is None else n], norm, False)


@_one_dim("fft_rfft")
def rfft(x, n, dim, norm):
    """The first ``n // 2 + 1`` elements of a real tensor's spectrum; the others are
    their conjugates. Raises RuntimeError for complex tensors.
    """
    at = _front_dim(x, dim)
    sizes = [x.size(at) if n is None else n]
    return _to_half("rfft", x, [at], sizes, _factor(norm, True))


@_one_dim("fft_irfft")
def irfft(x, n, dim, norm):
    """The ``n`` real numbers whose ``rfft`` is ``input``; by default ``2 (m - 1)`` for
    m elements.
    """
    at = _front_dim(x, dim)
    size = 2 * (x.size(at) - 1) if n is None else n
    return _from_half("irfft", x, [at], [size], _factor(norm, False))


@_one_dim("fft_hfft")
def hfft(x, n, dim, norm):
    """The real spectrum of a signal that equals its reversed conjugate and of which
    ``input`` is the first half.
    """
    at = _front_dim(x, dim)
    size = 2 * (x.size(at) - 1) if n is None else n
    return _from_half("hfft", _complex(x).conj(), [at], [size], _factor(norm, True))


@_one_dim("fft_ihfft")
def ihfft(x, n, dim, norm):
    """The first half of the signal whose spectrum is the real ``input``."""
    at = _front_dim(x, dim)
    sizes = [x.size(at) if n is None else n]
    return _to_half("ihfft", x, [at], sizes, _factor(norm, False)).conj()


# Two and more dimensions


def _many_dims(name):
    """The declaration of a transform along two dimensions, and along any number."""

    def declare(body):
        for suffix, dim in (("2", "int[1] dim=[-2, -1]"), ("n", "int[1]? dim=None")):
            schema = f"{name}{suffix}(Tensor self, SymInt[1]? s=None, {dim}"
            options = {"namespace": "fft", "out": True}
            declared = composite(f"{schema}, str? norm=None) -> Tensor", **options)(
                body
            )
        return declared

    return declare


@_many_dims("fft_fft")
def fftn(x, s, dim, norm):
    """``fft`` along each of ``dim``; by default all dims, or the last ``len(s)``. A
    size of -1 leaves a dim unchanged. ``norm`` counts the elements of all these dims.
    """
    dims, sizes = dims_and_sizes("fftn", x, s, dim)
    return _to_complex("fftn", x, dims, sizes, norm, True)


@_many_dims("fft_ifft")
def ifftn(x, s, dim, norm):
    """The inverse of ``fftn`` with the same ``norm``."""
    dims, sizes = dims_and_sizes("ifftn", x, s, dim)
    return _to_complex("ifftn", x, dims, sizes, norm, False)


@_many_dims("fft_rfft")
def rfftn(x, s, dim, norm):
    """``fftn`` of a real tensor, the first half along the last of ``dim``."""
    dims, sizes = _nonempty_dims("rfftn", x, s, dim)
    return _to_half("rfftn", x, dims, sizes, _factor(norm, True))


@_many_dims("fft_irfft")
def irfftn(x, s, dim, norm):
    """The real tensor, of sizes ``s`` along ``dim``, whose ``rfftn`` is ``input``."""
    dims, sizes = _real_sizes("irfftn", x, s, dim)
    return _from_half("irfftn", x, dims, sizes, _factor(norm, False))


@_many_dims("fft_hfft")
def hfftn(x, s, dim, norm):
    """``hfft`` along the last of ``dim`` after ``fft`` along the others."""
    dims, sizes = _real_sizes("hfftn", x, s, dim)
    _require_points("hfftn", sizes)
    factor = _factor(norm, True)
    x = _resized(_complex(x), dims, [*sizes[:-1], sizes[-1] // 2 + 1])
    *others, last = dims
    if others:
        x = api._fft_c2c(x, others, factor, True)
    return api._fft_c2r(x.conj(), [last], factor, sizes[-1])


@_many_dims("fft_ihfft")
def ihfftn(x, s, dim, norm):
    """``ihfft`` along the last of ``dim``, then ``ifft`` along the others."""
    dims, sizes = _nonempty_dims("ihfftn", x, s, dim)
    factor = _factor(norm, False)
    x = _real("ihfftn", x)
    _require_points("ihfftn", sizes)
    *others, last = dims
    spectrum = api._fft_r2c(_resized(x, dims, sizes), [last], factor, True).conj()
    return api._fft_c2c(spectrum, others, factor, False) if others else spectrum
