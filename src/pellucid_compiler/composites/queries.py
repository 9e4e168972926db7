"""Queries on a tensor: sizes, strides, category of dtype, position in the graph.

The runtime implements them as methods and attributes of tensors; these declarations are
their entries in ``torch.ops``. Bodies whose operand is called ``input`` are functions
of the package, too (``pellucid/_functions/tensor_queries.py``).
"""

from pellucid_compiler.composites import api, composite, framework_module

_IN_OPS = {"method": False, "function": False}


# ------------------------------------------------------------------ geometry


@composite("dim(Tensor self) -> int", **_IN_OPS)
def dim(x):
    """The number of dimensions."""
    return x.dim()


@composite("numel(Tensor self) -> int", **_IN_OPS)
@composite("sym_numel(Tensor self) -> SymInt", **_IN_OPS, core=True)
def numel(input):
    """The number of elements."""
    return input.numel()


@composite("size(Tensor self) -> int[]", **_IN_OPS)
@composite("sym_size(Tensor self) -> SymInt[]", **_IN_OPS)
def size(x):
    """The size of every dimension."""
    return list(x.shape)


@composite("size.int(Tensor self, int dim) -> int", **_IN_OPS)
@composite("sym_size.int(Tensor self, int dim) -> SymInt", **_IN_OPS, core=True)
def size_of(x, dim):
    """The size of one dimension."""
    return x.size(dim)


@composite("stride(Tensor self) -> int[]", **_IN_OPS)
@composite("sym_stride(Tensor self) -> SymInt[]", **_IN_OPS)
def stride(x):
    """The stride of every dimension, in elements."""
    return list(x.stride())


@composite("stride.int(Tensor self, int dim) -> int", **_IN_OPS)
@composite("sym_stride.int(Tensor self, int dim) -> SymInt", **_IN_OPS, core=True)
def stride_of(x, dim):
    """The stride of one dimension, in elements."""
    return x.stride(dim)


@composite("storage_offset(Tensor self) -> int", **_IN_OPS)
@composite("sym_storage_offset(Tensor self) -> SymInt", **_IN_OPS, core=True)
def storage_offset(x):
    """The position of the first element in its storage, in elements."""
    return x.storage_offset()


@composite("element_size(Tensor self) -> int", **_IN_OPS)
def element_size(x):
    """The size of an element, in bytes."""
    return x.element_size()


@composite("is_contiguous(Tensor self) -> bool", **_IN_OPS)
def is_contiguous(x):
    """Whether the elements are in row-major order without gaps."""
    return x.is_contiguous()


@composite(
    "is_contiguous.memory_format(Tensor self, MemoryFormat memory_format) -> bool",
    **_IN_OPS,
)
def is_contiguous_as(x, memory_format):
    """Whether the elements are in the order of ``memory_format`` without gaps."""
    return x.is_contiguous(memory_format=memory_format)


@composite(
    "sym_is_contiguous(Tensor self, MemoryFormat memory_format=0) -> SymBool", **_IN_OPS
)
def sym_is_contiguous(x, memory_format):
    """``is_contiguous``, for sizes that may be symbols."""
    return x.is_contiguous(memory_format=memory_format)


@composite(
    "is_strides_like_format(Tensor self, MemoryFormat memory_format) -> bool", **_IN_OPS
)
def is_strides_like_format(x, memory_format):
    """Whether the strides order the dims as channels-last ones do; gaps are allowed."""
    dims = {api.channels_last: 4, api.channels_last_3d: 5}.get(memory_format)
    if x.dim() != dims:
        return False
    least = 0
    for d in (1, *range(dims - 1, 1, -1), 0):
        step, count = x.stride(d), x.shape[d]
        if count == 0 or step < least or (d == 0 and step == x.stride(1)):
            return False
        least = step * max(count, 1) if count > 1 else step
    return True


@composite("is_non_overlapping_and_dense(Tensor self) -> bool", **_IN_OPS)
def is_non_overlapping_and_dense(x):
    """Whether the elements fill a block of memory, each once, in some order."""
    if not x.numel():
        return True
    expected = 1
    for step, count in sorted(zip(x.stride(), x.shape, strict=True)):
        if count == 1:
            continue
        if step != expected:
            return False
        expected *= count
    return True


@composite("is_same_size(Tensor self, Tensor other) -> bool", method=False, seen=True)
def is_same_size(x, other):
    """Whether the shapes are equal."""
    return x.is_same_size(other)


@composite("is_set_to(Tensor self, Tensor tensor) -> bool", **_IN_OPS)
def is_set_to(x, tensor):
    """Whether both are the same view of the same storage."""
    return x.is_set_to(tensor)


# ------------------------------------------------------------------ dtype, device


@composite("is_floating_point(Tensor self) -> bool", **_IN_OPS)
def is_floating_point(input):
    """Whether the dtype is a floating-point one."""
    return input.is_floating_point()


@composite("is_complex(Tensor self) -> bool", **_IN_OPS)
def is_complex(input):
    """Whether the dtype is complex."""
    return input.is_complex()


@composite("is_conj(Tensor self) -> bool", **_IN_OPS)
def is_conj(input):
    """Whether a conjugation is pending (``conj``)."""
    return input.is_conj()


@composite("is_neg(Tensor self) -> bool", **_IN_OPS)
def is_neg(input):
    """Whether a negation is pending (``x.conj().imag``)."""
    return input.is_neg()


@composite("is_signed(Tensor self) -> bool", **_IN_OPS)
def is_signed(input):
    """Whether the dtype has negative numbers."""
    return input.is_signed()


@composite("get_device(Tensor self) -> int", **_IN_OPS)
def get_device(input):
    """The index of the device; -1 for the CPU."""
    return input.get_device()


@composite("is_distributed(Tensor self) -> bool")
def is_distributed(x):
    """False: no tensor is distributed over processes."""
    return False


@composite(
    "pin_memory(Tensor(a) self, Device? device=None) -> Tensor(a)", function=False
)
def pin_memory(x, device):
    """The tensor in page-locked memory, for copies to an accelerator; itself if it is
    there. RuntimeError without an accelerator that uses such memory."""
    return framework_module("_C")._pin_memory(x)


@composite(
    "_pin_memory(Tensor self, Device? device=None) -> Tensor",
    method=False,
    function=False,
    seen=True,
)
def pin_memory_by_op(x, device):
    """``pin_memory``, as modes see it."""
    return framework_module("_C")._pin_memory(x)


@composite("is_pinned(Tensor self, Device? device=None) -> bool", **_IN_OPS)
def is_pinned(x, device):
    """Whether the memory is page-locked for an accelerator."""
    return x.is_pinned()


# ------------------------------------------------------------------ autograd


@composite("is_leaf(Tensor self) -> bool", **_IN_OPS)
def is_leaf(x):
    """Whether no recorded op made it."""
    return x.is_leaf


@composite("is_inference(Tensor self) -> bool", **_IN_OPS)
def is_inference(input):
    """Whether it was made in inference mode."""
    return input.is_inference()


@composite("output_nr(Tensor self) -> int", **_IN_OPS)
def output_nr(x):
    """Which result of its node it is."""
    return x.output_nr


@composite("retains_grad(Tensor self) -> bool", **_IN_OPS)
def retains_grad(x):
    """Whether a non-leaf retains its gradient."""
    return x.retains_grad


@composite("retain_grad(Tensor(a!) self) -> ()", **_IN_OPS)
def retain_grad(x):
    """Retain the gradient of a non-leaf."""
    x.retain_grad()


@composite(
    "requires_grad_(Tensor(a!) self, bool requires_grad=True) -> Tensor(a!)", **_IN_OPS
)
def requires_grad_(x, requires_grad):
    """Turn recording of gradients on or off, in place."""
    return x.requires_grad_(requires_grad)


@composite("data(Tensor self) -> Tensor", **_IN_OPS)
def data(x):
    """An alias of the same memory without history."""
    return x.data


@composite("set_data(Tensor(a!) self, Tensor new_data) -> ()", **_IN_OPS)
def set_data(x, new_data):
    """Replace the memory without changing the position in the graph."""
    x.data = new_data


@composite(
    "grad(Tensor[] outputs, Tensor[] inputs, Tensor?[]? grad_outputs=None, "
    "bool? retain_graph=None, bool create_graph=False, bool allow_unused=False) "
    "-> Tensor?[]",
    **_IN_OPS,
)
def grad(outputs, inputs, grad_outputs, retain_graph, create_graph, allow_unused):
    """``torch.autograd.grad``."""
    return list(
        api.autograd.grad(
            outputs, inputs, grad_outputs, retain_graph, create_graph, allow_unused
        )
    )


@composite(
    "backward(Tensor self, Tensor? gradient=None, bool? retain_graph=None, "
    "bool create_graph=False) -> ()",
    **_IN_OPS,
)
def backward(x, gradient, retain_graph, create_graph):
    """``Tensor.backward``."""
    x.backward(gradient, retain_graph, create_graph)


@composite("get_gradients(int context_id) -> Dict(Tensor, Tensor)", **_IN_OPS)
def get_gradients(context_id):
    """``torch.distributed.autograd.get_gradients``."""
    return api.distributed.autograd.get_gradients(context_id)
