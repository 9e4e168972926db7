"""Ops implemented in C++: views by geometry, choices between views and copies, memory
without values, and random draws in PyTorch's order.

Each names its kernel, a function of ``runtime/intrinsics``.
Overloads of a name are tried in the order of declaration.
"""

from pellucid_compiler.composites import api
from pellucid_compiler.declare.intrinsics import intrinsic

# ------------------------------------------------------------- views by geometry

# The view's sizes, strides and offset, then those of the base. They are saved for
# backward as integers: a saved base would be invalid after the next in-place write.
_VIEWED = "int[] size, int[] stride, int storage_offset"
_GEOMETRY = f"{_VIEWED}, int[] base_size, int[] base_stride, int base_offset"
_PLACES = "size, stride, storage_offset, base_size, base_stride, base_offset"

intrinsic(
    f"pellucid::as_strided.geometry(Tensor(a) self, {_GEOMETRY}) -> Tensor(a)",
    """``as_strided`` of a view, with the geometry of its base for the gradient.""",
    "intrinsics::as_strided_geometry",
    "view",
    gradient=f"pellucid::as_strided_backward.geometry(grad, {_PLACES})",
)
intrinsic(
    f"pellucid::as_strided_backward.geometry(Tensor self, {_GEOMETRY}) -> Tensor",
    """Zeros of the base's geometry, and in them the gradient of the view.""",
    "intrinsics::as_strided_backward",
    "loop",
    gradient=f"pellucid::as_strided_gather.geometry(grad, {_PLACES})",
)
intrinsic(
    f"pellucid::as_strided_gather.geometry(Tensor self, {_GEOMETRY}) -> Tensor",
    """A copy of the elements of a view with this geometry.""",
    "intrinsics::as_strided_gather",
    "loop",
    gradient=f"pellucid::as_strided_backward.geometry(grad, {_PLACES})",
)
intrinsic(
    "as_strided(Tensor(a) self, SymInt[] size, SymInt[] stride, "
    "SymInt? storage_offset=None) -> Tensor(a)",
    """A view with these sizes, strides and offset, in elements of the storage; the
    offset defaults to that of ``self``. RuntimeError if it would exceed the storage.
    """,
    "intrinsics::as_strided",
    method=True,
    function=True,
    seen=True,
    within=False,
    core=True,
)
intrinsic(
    "_conj(Tensor(a) self) -> Tensor(a)",
    """A view of complex numbers as their conjugates, which the next op computes.""",
    "intrinsics::conj_view",
    "view",
    gradient="_conj_physical(grad)",
    instead="_conj_physical",
    method=True,
    function=True,
)
intrinsic(
    "_neg_view(Tensor(a) self) -> Tensor(a)",
    """A view of numbers as their negatives, which the next op computes.""",
    "intrinsics::neg_view",
    "view",
    gradient="neg(grad)",
    instead="neg",
    method=True,
    function=True,
)
intrinsic(
    "view_as_real(Tensor(a) self) -> Tensor(a)",
    """A view of complex numbers as pairs of real ones, in a last dim of size 2.""",
    "intrinsics::view_as_real",
    "view",
    gradient="view_as_complex_copy(grad)",
    instead="view_as_real_copy",
    function=True,
)
intrinsic(
    "view_as_complex(Tensor(a) self) -> Tensor(a)",
    """A view of pairs in the last dim, which has size 2, as complex numbers.""",
    "intrinsics::view_as_complex",
    "view",
    gradient="view_as_real_copy(grad)",
    instead="view_as_complex_copy",
    function=True,
    autocast="float32",
)

# ------------------------------------- a tensor itself, a view of it, or a copy

_CONVERTED = "bool non_blocking=False, bool copy=False"
_FORMAT = "MemoryFormat? memory_format=None) -> Tensor(a)"
_OPTIONS = (
    "ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
    "bool? pin_memory=None"
)

intrinsic(
    "contiguous(Tensor(a) self, *, MemoryFormat memory_format=contiguous_format) "
    "-> Tensor(a)",
    """The tensor if it is contiguous in ``memory_format``, else a copy that is.""",
    "intrinsics::contiguous",
    method=True,
)
intrinsic(
    "view.dtype(Tensor(a) self, ScalarType dtype) -> Tensor(a)",
    """A view of the same bytes as another dtype. If the element sizes differ, the last
    dim grows or shrinks by their ratio.
    """,
    "intrinsics::view_dtype",
    method=True,
    seen=True,
)
_TO = """The tensor in another dtype or on another device; the same tensor if nothing
changes and ``copy`` is false. ``to.other`` takes both from a tensor."""
intrinsic(
    f"to.dtype(Tensor(a) self, ScalarType dtype, {_CONVERTED}, {_FORMAT}",
    _TO,
    "intrinsics::to_dtype",
    method=True,
)
intrinsic(
    "to.device(Tensor(a) self, Device device, ScalarType dtype, "
    f"{_CONVERTED}, {_FORMAT}",
    _TO,
    "intrinsics::to_device",
)
intrinsic(
    f"to.other(Tensor(a) self, Tensor other, {_CONVERTED}, {_FORMAT}",
    _TO,
    "intrinsics::to_other",
    method=True,
)
intrinsic(
    f"to.dtype_layout(Tensor(a) self, *, {_OPTIONS}, {_CONVERTED}, {_FORMAT}",
    _TO,
    "intrinsics::to_layout",
)
intrinsic(  # Python's forms: x.to("cpu") has no dtype, x.to(dtype=...) no device
    "python::to(Tensor(a) self, Device? device=None, ScalarType? dtype=None, "
    f"{_CONVERTED}, *, {_FORMAT}",
    _TO,
    "intrinsics::to_device",
    method=True,
)
intrinsic(
    "type_as(Tensor self, Tensor other) -> Tensor",
    """The tensor in the dtype of ``other``.""",
    "intrinsics::type_as",
    method=True,
)
intrinsic(
    "detach(Tensor(a) self) -> Tensor(a)",
    """A view without history: gradients do not pass through it.""",
    "intrinsics::detach_view",
    method=True,
    function=True,
    seen=True,
    core_as=lambda x: api.ops.aten.alias.default(x),
)
intrinsic(
    "detach_(Tensor(a!) self) -> Tensor(a!)",
    """Removes the tensor's history, which makes it a leaf. RuntimeError for a
    view.
    """,
    "intrinsics::detach_self",
    method=True,
    function=True,
    seen=True,
    tags="inplace_view",
)
intrinsic(
    "reshape(Tensor(a) self, SymInt[] shape) -> Tensor(a)",
    """The elements, row by row, in another shape: a view if the strides permit it,
    else a copy. One size may be -1: it follows from the others.
    """,
    "intrinsics::reshape",
    method=True,
    function=True,
)
intrinsic(
    "flatten.using_ints(Tensor(a) self, int start_dim=0, int end_dim=-1) -> Tensor(a)",
    """Dims ``start_dim`` to ``end_dim`` as one: a view if the strides permit it.""",
    "intrinsics::flatten",
    method=True,
    function=True,
)
intrinsic(
    "expand_as(Tensor(a) self, Tensor other) -> Tensor(a)",
    """A view of the shape of ``other``, to which it is broadcast.""",
    "intrinsics::expand_as",
    method=True,
)
intrinsic(
    "view_as(Tensor(a) self, Tensor other) -> Tensor(a)",
    """A view of the shape of ``other``, which has the same number of elements.""",
    "intrinsics::view_as",
    method=True,
)
intrinsic(
    "reshape_as(Tensor(a) self, Tensor other) -> Tensor(a)",
    """The elements in the shape of ``other``: a view if the strides permit it.""",
    "intrinsics::reshape_as",
    method=True,
)

# --------------------------------------------------- parts of a tensor, as views


def _unbound(x, dim=0):
    return tuple(api.ops.aten.select.int(x, dim, k) for k in range(x.shape[dim]))


def _pieces(x, split_size, dim=0):
    size = x.shape[dim]
    sizes = [min(split_size, size - at) for at in range(0, size, split_size)]
    return api.ops.aten.split_with_sizes(x, sizes or [0], dim)


# One node for all parts, whose gradient joins theirs: a node per part would make a
# tensor of the whole size for each.
_SPLIT = (
    """Views of the given sizes along ``dim``; they add up to the size of that dim."""
)
intrinsic(
    "unbind.int(Tensor(a -> *) self, int dim=0) -> Tensor(a)[]",
    """A view of each slice along ``dim``, without that dim.""",
    "intrinsics::unbind",
    "view",
    gradient="stack(grads, dim)",
    within=True,
    method=True,
    function=True,
    core_as=_unbound,
)
intrinsic(
    "split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) -> Tensor(a)[]",
    """Views of ``split_size`` slices along ``dim`` each; the last may be smaller.""",
    "intrinsics::split",
    "view",
    gradient="cat(grads, dim)",
    within=True,
    method=True,
    function=True,
    core_as=_pieces,
)
intrinsic(
    "split.sizes(Tensor(a -> *) self, SymInt[] split_size, int dim=0) -> Tensor(a)[]",
    _SPLIT,
    "intrinsics::split_list",
    method=True,
    function=True,
)
intrinsic(
    "split(Tensor(a -> *) self, int[] split_sizes, int dim=0) -> Tensor(a)[]",
    _SPLIT,
    "intrinsics::split_list",
)
intrinsic(
    "split_with_sizes(Tensor(a -> *) self, SymInt[] split_sizes, int dim=0) "
    "-> Tensor(a)[]",
    _SPLIT,
    "intrinsics::split_sizes",
    "view",
    gradient="cat(grads, dim)",
    within=True,
    method=True,
    function=True,
    core=True,
)
intrinsic(
    "chunk(Tensor(a -> *) self, int chunks, int dim=0) -> Tensor(a)[]",
    """Views of at most ``chunks`` equal parts of ``dim``; the last may be smaller.""",
    "intrinsics::chunk",
    method=True,
    function=True,
)

# --------------------------------------------------------- memory without values

intrinsic(
    f"empty.memory_format(SymInt[] size, *, {_OPTIONS}, "
    "MemoryFormat? memory_format=None) -> Tensor",
    """An uninitialised tensor of this size.""",
    "intrinsics::empty_sizes",
    function=True,
    seen=True,
    core=True,
)
intrinsic(
    f"empty_like(Tensor self, *, {_OPTIONS}, MemoryFormat? memory_format=None) "
    "-> Tensor",
    """``empty`` in the shape, dtype and device of ``self``.""",
    "intrinsics::empty_like",
    function=True,
    seen=True,
)
intrinsic(
    f"new_empty(Tensor self, SymInt[] size, *, {_OPTIONS}) -> Tensor",
    """An uninitialised tensor of this size, in the dtype of ``self``.""",
    "intrinsics::new_empty",
    method=True,
    seen=True,
)
intrinsic(
    f"empty_strided(SymInt[] size, SymInt[] stride, *, {_OPTIONS}) -> Tensor",
    """An uninitialised tensor of these sizes and strides.""",
    "intrinsics::empty_with_strides",
    function=True,
    seen=True,
    core=True,
)

# ------------------------------------------- changing a tensor's facts in place

intrinsic(
    "as_strided_(Tensor(a!) self, SymInt[] size, SymInt[] stride, "
    "SymInt? storage_offset=None) -> Tensor(a!)",
    """Gives the tensor these sizes, strides and offset in its storage.""",
    "intrinsics::change_view",
    method=True,
    function=True,
    seen=True,
    tags="inplace_view",
)
intrinsic(
    "resize_(Tensor(a!) self, SymInt[] size, *, MemoryFormat? memory_format=None) "
    "-> Tensor(a!)",
    """Gives the tensor another size; its storage grows if necessary. New elements are
    uninitialised.
    """,
    "intrinsics::resize",
    method=True,
    seen=True,
    tags="inplace_view",
)
intrinsic(
    "resize_as_(Tensor(a!) self, Tensor the_template, *, "
    "MemoryFormat? memory_format=None) -> Tensor(a!)",
    """``resize_`` to the size of another tensor.""",
    "intrinsics::resize_as",
    method=True,
    function=True,
    seen=True,
    tags="inplace_view",
)
intrinsic(
    "set_.source_Tensor(Tensor(a!) self, Tensor source) -> Tensor(a!)",
    """Makes the tensor a view of another one's storage, with its sizes and strides.""",
    "intrinsics::set_from",
    method=True,
    seen=True,
    tags="inplace_view",
)
intrinsic(
    "set_(Tensor(a!) self) -> Tensor(a!)",
    """Makes the tensor empty: of size 0, with a new storage.""",
    "intrinsics::set_empty",
    method=True,
    seen=True,
    tags="inplace_view",
)

# -------------------------------------------------------------- random draws

_WRITTEN = "*, Generator? generator=None) -> Tensor(a!)"
_DRAWN = "Generator? generator, "
_INTEGERS = _OPTIONS.replace("=None", "=long", 1)
_LIKE = f"*, {_OPTIONS}, MemoryFormat? memory_format=None) -> Tensor"

_RANDOM = """Fills with uniformly distributed integers from ``from`` to ``to - 1``;
without bounds, from all that the dtype represents exactly."""
_BELOW = """Uniformly distributed integers from ``low`` (default 0) to ``high - 1``."""
_NUMBERS = """Numbers in place of their parameters, drawn from {} distributions."""

for _schema, _doc, _kernel in (
    (
        f"uniform_(Tensor(a!) self, float from=0, float to=1, {_WRITTEN}",
        """Fills with numbers uniformly distributed in [``from``, ``to``).""",
        "intrinsics::uniform",
    ),
    (
        f"normal_(Tensor(a!) self, float mean=0, float std=1, {_WRITTEN}",
        """Fills with numbers drawn from a normal distribution.""",
        "intrinsics::normal",
    ),
    (
        f"random_.from(Tensor(a!) self, int from, int? to, {_WRITTEN}",
        _RANDOM,
        "intrinsics::random_from",
    ),
    (
        f"random_.to(Tensor(a!) self, int to, {_WRITTEN}",
        _RANDOM,
        "intrinsics::random_to",
    ),
    (f"random_(Tensor(a!) self, {_WRITTEN}", _RANDOM, "intrinsics::random"),
    (
        f"bernoulli_.float(Tensor(a!) self, float p=0.5, {_WRITTEN}",
        """Fills with 1 with probability ``p``, else 0.""",
        "intrinsics::bernoulli",
    ),
):
    intrinsic(_schema, _doc, _kernel, "random", method=True)

# composites/sampling.py calls these.
for _schema, _doc, _kernel in (
    (
        f"pellucid::_draw_gamma_(Tensor(a!) self, {_WRITTEN}",
        _NUMBERS.format("gamma"),
        "intrinsics::draw_gamma",
    ),
    (
        f"pellucid::_draw_poisson_(Tensor(a!) self, {_WRITTEN}",
        _NUMBERS.format("Poisson"),
        "intrinsics::draw_poisson",
    ),
    (
        f"pellucid::_draw_binomial_(Tensor(a!) self, {_WRITTEN}",
        _NUMBERS.format("binomial"),
        "intrinsics::draw_binomial",
    ),
):
    intrinsic(_schema, _doc, _kernel, "random", function=True)

_RAND = """Numbers uniformly distributed in [0, 1)."""
_RANDN = """Numbers drawn from the normal distribution of mean 0 and variance 1."""
_RANDPERM = """The integers from 0 to ``n - 1`` in random order."""

for _schema, _doc, _kernel in (
    (f"rand(SymInt[] size, *, {_OPTIONS}) -> Tensor", _RAND, "intrinsics::rand"),
    (f"randn(SymInt[] size, *, {_OPTIONS}) -> Tensor", _RANDN, "intrinsics::randn"),
    (
        f"randperm(SymInt n, *, {_INTEGERS}) -> Tensor",
        _RANDPERM,
        "intrinsics::randperm",
    ),
):
    intrinsic(_schema, _doc, _kernel, "random", function=True, core=True)
for _schema, _doc, _kernel in (
    (
        f"rand.generator(SymInt[] size, *, {_DRAWN}{_OPTIONS}) -> Tensor",
        _RAND,
        "intrinsics::rand",
    ),
    (
        f"randn.generator(SymInt[] size, *, {_DRAWN}{_OPTIONS}) -> Tensor",
        _RANDN,
        "intrinsics::randn",
    ),
    (
        f"randint(SymInt high, SymInt[] size, *, {_INTEGERS}) -> Tensor",
        _BELOW,
        "intrinsics::randint",
    ),
    (
        "randint.generator(SymInt high, SymInt[] size, *, "
        f"{_DRAWN}{_INTEGERS}) -> Tensor",
        _BELOW,
        "intrinsics::randint",
    ),
    (
        "randint.low(SymInt low, SymInt high, SymInt[] size, *, "
        f"{_INTEGERS}) -> Tensor",
        _BELOW,
        "intrinsics::randint_low",
    ),
    (
        "randint.low_generator(SymInt low, SymInt high, SymInt[] size, *, "
        f"{_DRAWN}{_INTEGERS}) -> Tensor",
        _BELOW,
        "intrinsics::randint_low",
    ),
    (
        f"randperm.generator(SymInt n, *, {_DRAWN}{_INTEGERS}) -> Tensor",
        _RANDPERM,
        "intrinsics::randperm",
    ),
    (
        "normal.float_float(float mean, float std, SymInt[] size, *, "
        f"Generator? generator=None, {_OPTIONS}) -> Tensor",
        """Numbers drawn from a normal distribution, of this size.""",
        "intrinsics::normal_of_size",
    ),
    (
        f"rand_like(Tensor self, {_LIKE}",
        """``rand`` in the shape, dtype and device of ``self``.""",
        "intrinsics::rand_like",
    ),
    (
        f"randn_like(Tensor self, {_LIKE}",
        """``randn`` in the shape, dtype and device of ``self``.""",
        "intrinsics::randn_like",
    ),
    (
        f"randint_like(Tensor self, SymInt high, {_LIKE}",
        """``randint`` in the shape, dtype and device of ``self``.""",
        "intrinsics::randint_like",
    ),
    (
        f"randint_like.low_dtype(Tensor self, SymInt low, SymInt high, {_LIKE}",
        """``randint`` in the shape, dtype and device of ``self``.""",
        "intrinsics::randint_like_low",
    ),
):
    intrinsic(_schema, _doc, _kernel, "random", function=True)
