"""Ops that C++ carries out: views by geometry, choices between views and copies, memory
without values, and random draws in PyTorch's order.

Their kernels are listed in ``runtime/module/intrinsics.cpp``. Overloads of one name are
tried in this order.
"""

from pellucid_compiler.declare.intrinsics import intrinsic

# ------------------------------------------------------------- views by geometry

# The view's sizes, strides and offset, then those of the base: integers, since a saved
# base would be refused after the next write.
_VIEWED = "int[] size, int[] stride, int storage_offset"
_GEOMETRY = f"{_VIEWED}, int[] base_size, int[] base_stride, int base_offset"
_PLACES = "size, stride, storage_offset, base_size, base_stride, base_offset"

intrinsic(
    f"as_strided.geometry(Tensor(a) self, {_GEOMETRY}) -> Tensor(a)",
    "view",
    gradient=f"as_strided_backward.geometry(grad, {_PLACES})",
)
intrinsic(  # zeros of the base's geometry, and in them the gradient of the view
    f"as_strided_backward.geometry(Tensor self, {_GEOMETRY}) -> Tensor",
    "loop",
    gradient=f"as_strided_gather.geometry(grad, {_PLACES})",
)
intrinsic(  # the same elements again
    f"as_strided_gather.geometry(Tensor self, {_GEOMETRY}) -> Tensor",
    "loop",
    gradient=f"as_strided_backward.geometry(grad, {_PLACES})",
)
intrinsic(
    "as_strided(Tensor(a) self, SymInt[] size, SymInt[] stride, "
    "SymInt? storage_offset=None) -> Tensor(a)",
    method=True,
    function=True,
    seen=True,
    within=False,
)
intrinsic(
    "view_as_real(Tensor(a) self) -> Tensor(a)",
    "view",
    gradient="view_as_complex_copy(grad)",
    instead="view_as_real_copy",
    function=True,
)
intrinsic(
    "view_as_complex(Tensor(a) self) -> Tensor(a)",
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
    method=True,
)
intrinsic("view.dtype(Tensor(a) self, ScalarType dtype) -> Tensor(a)", method=True)
intrinsic(
    f"to.dtype(Tensor(a) self, ScalarType dtype, {_CONVERTED}, {_FORMAT}", method=True
)
intrinsic(
    "to.device(Tensor(a) self, Device device, ScalarType dtype, "
    f"{_CONVERTED}, {_FORMAT}"
)
intrinsic(
    f"to.other(Tensor(a) self, Tensor other, {_CONVERTED}, {_FORMAT}", method=True
)
intrinsic(f"to.dtype_layout(Tensor(a) self, *, {_OPTIONS}, {_CONVERTED}, {_FORMAT}")
intrinsic(  # as Python says it: x.to("cpu") gives no dtype, x.to(dtype=...) no device
    "python::to(Tensor(a) self, Device? device=None, ScalarType? dtype=None, "
    f"{_CONVERTED}, *, {_FORMAT}",
    method=True,
)
intrinsic("type_as(Tensor self, Tensor other) -> Tensor", method=True)
intrinsic("detach(Tensor(a) self) -> Tensor(a)", method=True, function=True, seen=True)
intrinsic(
    "detach_(Tensor(a!) self) -> Tensor(a!)", method=True, function=True, seen=True
)
intrinsic(
    "reshape(Tensor(a) self, SymInt[] shape) -> Tensor(a)", method=True, function=True
)
intrinsic(
    "flatten.using_ints(Tensor(a) self, int start_dim=0, int end_dim=-1) -> Tensor(a)",
    method=True,
    function=True,
)
intrinsic("expand_as(Tensor(a) self, Tensor other) -> Tensor(a)", method=True)
intrinsic("view_as(Tensor(a) self, Tensor other) -> Tensor(a)", method=True)
intrinsic("reshape_as(Tensor(a) self, Tensor other) -> Tensor(a)", method=True)

# --------------------------------------------------- parts of a tensor, as views

# One node each, whose gradient joins those of all parts: a node per part would make a
# tensor of the whole size for each.
intrinsic(
    "unbind.int(Tensor(a -> *) self, int dim=0) -> Tensor(a)[]",
    "view",
    gradient="stack(grads, dim)",
    within=True,
    method=True,
    function=True,
)
intrinsic(
    "split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) -> Tensor(a)[]",
    "view",
    gradient="cat(grads, dim)",
    within=True,
    method=True,
    function=True,
)
intrinsic(
    "split.sizes(Tensor(a -> *) self, SymInt[] split_size, int dim=0) -> Tensor(a)[]",
    method=True,
    function=True,
)
intrinsic("split(Tensor(a -> *) self, int[] split_sizes, int dim=0) -> Tensor(a)[]")
intrinsic(
    "split_with_sizes(Tensor(a -> *) self, SymInt[] split_sizes, int dim=0) "
    "-> Tensor(a)[]",
    "view",
    gradient="cat(grads, dim)",
    within=True,
    method=True,
    function=True,
)
intrinsic(
    "chunk(Tensor(a -> *) self, int chunks, int dim=0) -> Tensor(a)[]",
    method=True,
    function=True,
)

# --------------------------------------------------------- memory without values

intrinsic(
    f"empty.memory_format(SymInt[] size, *, {_OPTIONS}, "
    "MemoryFormat? memory_format=None) -> Tensor",
    function=True,
    seen=True,
)
intrinsic(
    f"empty_like(Tensor self, *, {_OPTIONS}, MemoryFormat? memory_format=None) "
    "-> Tensor",
    function=True,
    seen=True,
)
intrinsic(
    f"new_empty(Tensor self, SymInt[] size, *, {_OPTIONS}) -> Tensor",
    method=True,
    seen=True,
)
intrinsic(
    f"empty_strided(SymInt[] size, SymInt[] stride, *, {_OPTIONS}) -> Tensor",
    function=True,
    seen=True,
)

# ---------------------------------------------- what a tensor is, changed in place

intrinsic(
    "as_strided_(Tensor(a!) self, SymInt[] size, SymInt[] stride, "
    "SymInt? storage_offset=None) -> Tensor(a!)",
    method=True,
    function=True,
    seen=True,
)
intrinsic(
    "resize_(Tensor(a!) self, SymInt[] size, *, MemoryFormat? memory_format=None) "
    "-> Tensor(a!)",
    method=True,
    seen=True,
)
intrinsic(
    "resize_as_(Tensor(a!) self, Tensor the_template, *, "
    "MemoryFormat? memory_format=None) -> Tensor(a!)",
    method=True,
    function=True,
    seen=True,
)
intrinsic(
    "set_.source_Tensor(Tensor(a!) self, Tensor source) -> Tensor(a!)",
    method=True,
    seen=True,
)
intrinsic("set_(Tensor(a!) self) -> Tensor(a!)", method=True, seen=True)

# -------------------------------------------------------------- random draws

_WRITTEN = "*, Generator? generator=None) -> Tensor(a!)"
_DRAWN = "Generator? generator, "
_INTEGERS = _OPTIONS.replace("=None", "=long", 1)
_LIKE = f"*, {_OPTIONS}, MemoryFormat? memory_format=None) -> Tensor"

for _schema in (
    f"uniform_(Tensor(a!) self, float from=0, float to=1, {_WRITTEN}",
    f"normal_(Tensor(a!) self, float mean=0, float std=1, {_WRITTEN}",
    f"random_.from(Tensor(a!) self, int from, int? to, {_WRITTEN}",
    f"random_.to(Tensor(a!) self, int to, {_WRITTEN}",
    f"random_(Tensor(a!) self, {_WRITTEN}",
    f"bernoulli_.float(Tensor(a!) self, float p=0.5, {_WRITTEN}",
    # Numbers in place of their parameters: composites/sampling.py.
    f"_draw_gamma_(Tensor(a!) self, {_WRITTEN}",
    f"_draw_poisson_(Tensor(a!) self, {_WRITTEN}",
    f"_draw_binomial_(Tensor(a!) self, {_WRITTEN}",
):
    intrinsic(_schema, "random", method=True)

for _schema in (
    f"rand(SymInt[] size, *, {_OPTIONS}) -> Tensor",
    f"rand.generator(SymInt[] size, *, {_DRAWN}{_OPTIONS}) -> Tensor",
    f"randn(SymInt[] size, *, {_OPTIONS}) -> Tensor",
    f"randn.generator(SymInt[] size, *, {_DRAWN}{_OPTIONS}) -> Tensor",
    f"randint(SymInt high, SymInt[] size, *, {_INTEGERS}) -> Tensor",
    f"randint.generator(SymInt high, SymInt[] size, *, {_DRAWN}{_INTEGERS}) -> Tensor",
    f"randint.low(SymInt low, SymInt high, SymInt[] size, *, {_INTEGERS}) -> Tensor",
    "randint.low_generator(SymInt low, SymInt high, SymInt[] size, *, "
    f"{_DRAWN}{_INTEGERS}) -> Tensor",
    f"randperm(SymInt n, *, {_INTEGERS}) -> Tensor",
    f"randperm.generator(SymInt n, *, {_DRAWN}{_INTEGERS}) -> Tensor",
    "normal.float_float(float mean, float std, SymInt[] size, *, "
    f"Generator? generator=None, {_OPTIONS}) -> Tensor",
    f"rand_like(Tensor self, {_LIKE}",
    f"randn_like(Tensor self, {_LIKE}",
    f"randint_like(Tensor self, SymInt high, {_LIKE}",
    f"randint_like.low_dtype(Tensor self, SymInt low, SymInt high, {_LIKE}",
):
    intrinsic(_schema, "random", function=True)
