"""Every op overload on a call drawn from its schema (``tools/schema_calls.py``).

On Meta the results have the shapes and dtypes of those on the CPU, or the op is listed
as reading values. Composites are also tested in writing forms, in other layouts and
dtypes, under vmap and in both modes of differentiation.
"""

from collections import defaultdict
from functools import cache

import pytest
from tools.schema_calls import mapped, sample, tensors

import pellucid as torch
from pellucid_compiler.composites import all_composites
from pellucid_compiler.declare.schema import parse_schema

# Ops without sample arguments: PyTorch's kernels are on other devices, or the op is not
# a function of tensors only.
NOT_DRAWN = {
    *("addmm.dtype", "addmm.dtype_out", "baddbmm.dtype", "baddbmm.dtype_out"),
    *("bmm.dtype", "bmm.dtype_out", "mm.dtype", "mm.dtype_out", "to.device"),
    *("convolution_backward_overrideable", "convolution_backward_overrideable.out"),
    *("convolution_overrideable", "convolution_overrideable.out"),
    *("native_batch_norm_backward.out", "native_layer_norm_backward.out"),
    *(
        "backward",
        "grad",
        "is_contiguous.memory_format",
        "is_strides_like_format",
        "_pin_memory",
        "pin_memory",
        "retain_grad",
        "from_file.out",
    ),
    *("set.source_Storage", "set.source_Storage_storage_offset"),
    "set.source_Storage_storage_offset_out",
    *("set_.source_Storage", "set_.source_Storage_storage_offset"),
    "_sparse_mm_reduce_impl",  # takes CSR: surface/test_library_compatibility.py
    *("get_gradients", "record_stream"),  # of contexts and streams
}
# Ops of tensors that are stored as parts, or of narrow dtypes alone:
# sparse/test_ops_by_name.py, quantized/test_narrow_weights.py and the like.
_ROOMS = "sparse_tensors sparse_layouts quantized_tensors quantized_layers "
_ROOMS += "fake_quantization nested_tensors narrow_products"
OF_PARTS = {
    parse_schema(c.schema).name
    for c in all_composites()
    if c.body.__module__.rpartition(".")[2] in _ROOMS.split()
}
# Ops whose results are values, or whose output size depends on values.
READ_VALUES = {
    *("Bool", "Complex", "ComplexImplicit", "Float", "FloatImplicit", "Int"),
    *("IntImplicit", "ScalarImplicit", "_local_scalar_dense", "allclose", "cpu"),
    *("equal", "is_nonzero", "item"),
    *("_fused_adagrad_", "_fused_adam_", "_fused_adamw_", "argwhere", "bincount"),
    *("pellucid::_fused_adamax_", "pellucid::_fused_asgd_"),
    *("pellucid::_fused_nadam_", "pellucid::_fused_radam_"),
    *("histogram", "histogramdd", "masked_select", "nonzero", "nonzero_numpy"),
    *("one_hot", "repeat_interleave", "_unique2", "unique_consecutive", "unique_dim"),
    *(
        "unique_dim_consecutive",
        "where",
        "gru.data",
        "lstm.data",
        "narrow.Tensor",
        "rnn_relu.data",
    ),
    *("rnn_tanh.data", "tensor_split.tensor_indices_or_sections"),
}
# Random numbers and uninitialised memory.
DRAWS = {
    *("empty_permuted", "log_normal", "multinomial", "new_empty_strided"),
    *("normal.Tensor_Tensor", "normal.Tensor_float", "normal.float_Tensor"),
    *("normal_functional", "poisson", "rand_like.generator", "randint_like.Tensor"),
    *("randint_like.Tensor_generator", "randint_like.generator"),
    *("randint_like.low_generator_dtype", "randn_like.generator", "random"),
    *("random.from", "uniform", "binomial", "random.to", "resize", "resize_as"),
    *("_standard_gamma", "_sample_dirichlet"),
}
# Ops that read values or whose output size depends on values, and writes to memory.
NOT_BATCHED = {
    *("argwhere", "bincount", "embedding_bag", "embedding_bag.padding_idx"),
    *("embedding_renorm", "gru.data", "hash_tensor", "histc", "histogram.bin_ct"),
    *("histogram.bins_tensor", "histogramdd", "histogramdd.TensorList_bins"),
    *("histogramdd.int_bins", "linspace.Scalar_Tensor", "linspace.Tensor_Scalar"),
    *("linspace.Tensor_Tensor", "logspace.Scalar_Tensor", "logspace.Tensor_Scalar"),
    *("logspace.Tensor_Tensor", "lstm.data", "masked_scatter_backward"),
    *("narrow.Tensor", "one_hot", "repeat_interleave.Tensor"),
    *("repeat_interleave.self_Tensor", "rnn_relu.data", "rnn_tanh.data"),
    *("set.source_Tensor", "tensor_split.tensor_indices_or_sections"),
    *("unique_consecutive", "unique_dim", "unique_dim_consecutive"),
    *("view_copy.dtype",),
}
# Ops without a derivative, and samples that are edge cases: an empty sum, a singular or
# unsymmetric matrix, logarithms of negative numbers.
NOT_SMOOTH = {
    "_standard_gamma_grad",
    "_native_batch_norm_legit_functional",  # no gradient through statistics
    *("as_strided_scatter", "cholesky", "ctc_loss.IntList", "data", "detach_copy"),
    *("embedding_renorm", "float_power.Tensor_Scalar", "float_power.Tensor_Tensor"),
    *("histc", "histogram.bin_ct", "histogramdd", "histogramdd.TensorList_bins"),
    *("histogramdd.int_bins", "lift", "lift_fresh_copy", "linalg_cholesky"),
    *("linalg_cholesky_ex", "linalg_eigh", "linalg_eigvalsh", "linalg_ldl_factor"),
    *("linalg_ldl_factor_ex", "linalg_svd", "nuclear_norm.dim", "poisson_nll_loss"),
    *("set", "set.source_Tensor", "special_chebyshev_polynomial_t.x_scalar"),
    *("special_chebyshev_polynomial_u.x_scalar"),
    *("special_chebyshev_polynomial_v.x_scalar"),
    *("special_chebyshev_polynomial_w.x_scalar"),
    *("special_hermite_polynomial_h.x_scalar"),
    *("special_hermite_polynomial_he.x_scalar"),
    *("special_laguerre_polynomial_l.x_scalar"),
    *("special_legendre_polynomial_p.x_scalar"),
    *("special_shifted_chebyshev_polynomial_t.x_scalar"),
    *("special_shifted_chebyshev_polynomial_u.x_scalar"),
    *("special_shifted_chebyshev_polynomial_v.x_scalar"),
    *("special_shifted_chebyshev_polynomial_w.x_scalar"),
    *("special_zeta.other_scalar", "special_zeta.self_scalar"),
}
# Ops that take strides, and one that computes in float32.
OF_MEMORY = {
    *("as_strided_copy", "as_strided_scatter", "view_copy.dtype"),
    *("norm.ScalarOpt_dim_dtype",),
}
# Results with a fixed dtype; eigenvectors have no order.
OF_ONE_DTYPE = {
    *("float_power.Scalar", "float_power.Tensor_Scalar"),
    *("float_power.Tensor_Tensor", "linalg_eig", "view_copy.dtype"),
}
pytestmark = pytest.mark.filterwarnings("ignore")  # some ops are deprecated
REFUSALS = (RuntimeError, NotImplementedError)


@cache
def names():
    full = (entry[0] for entry in torch._C._list_ops())
    spaces = ("aten::", "pellucid::")
    actual = {name.removeprefix("aten::") for name in full if name.startswith(spaces)}
    return sorted(name for name in actual - NOT_DRAWN if is_drawn(name))


def is_drawn(name):
    return name.partition(".")[0] not in OF_PARTS


def overload_of(full_name):
    name, _, form = full_name.partition(".")
    return torch._C._overloads(name)[form or "default"]


@cache
def drawn(full_name):
    return sample(overload_of(full_name))


def facts(results):
    return [(tuple(t.shape), t.dtype) for t in tensors(results)]


@pytest.mark.parametrize("name", names())
def test_meta_results_are_those_of_the_cpu(name):
    known = drawn(name)
    assert known is not None, "give arguments in tools/given_calls.py"
    refused = name in READ_VALUES or name.partition(".")[0] in READ_VALUES
    try:
        actual = known.run(overload_of(name), lambda t: t.to("meta"))
    except REFUSALS as error:
        assert refused, error
        return
    assert facts(actual) == facts(known.results)
    if tensors((known.positional, known.named)):
        assert all(t.device.type == "meta" for t in tensors(actual))


def functional():
    """The composites without writes and random numbers."""
    schemas = [parse_schema(c.schema) for c in all_composites()]
    plain = [s for s in schemas if not any(a.mutated for a in s.arguments)]
    actual = {s.full_name for s in plain} - NOT_DRAWN - DRAWS
    return sorted(filter(is_drawn, actual))


def assert_close(actual, known, tolerance=1e-9):
    actual, known = tensors(actual), tensors(known)
    assert len(actual) == len(known)
    for a, b in zip(actual, known, strict=True):
        torch.testing.assert_close(
            a.detach(), b.detach(), equal_nan=True, rtol=tolerance, atol=tolerance
        )


@cache
def overloads():
    """All overloads by the name of their op."""
    actual = defaultdict(list)
    for name in names():
        actual[name.partition(".")[0]].append(name)
    return actual


def writing_forms(name):
    """The ``out=`` and in-place forms that take the op's arguments."""
    stem, taken = name.partition(".")[0], arguments_of(name)
    known = [*overloads().get(stem, ()), *overloads().get(f"{stem}_", ())]
    return [n for n in known if n != name and arguments_of(n) == taken and writes(n)]


@cache
def arguments_of(name):
    schema = overload_of(name)._schema
    return [(a.name, a.type) for a in schema.arguments if not a.is_out]


def writes(name):
    return overload_of(name)._schema.is_mutable


@pytest.mark.parametrize("name", [n for n in functional() if writing_forms(n)])
def test_forms_that_write_give_what_the_function_gives(name):
    known = drawn(name)
    for form in writing_forms(name):
        overload = overload_of(form)
        positional, named = mapped(torch.clone, (known.positional, known.named))
        outputs = [a for a in overload._schema.arguments if a.is_out]
        destinations = [torch.empty_like(t) for t in tensors(known.results)]
        if outputs:
            are_one_list = outputs[0].type.endswith("[]")
            destinations = [destinations] if are_one_list else destinations
            named |= dict(zip((a.name for a in outputs), destinations, strict=True))
            overload(*positional, **named)
            assert_close(destinations, known.results)
        elif facts(positional[0]) == facts(known.results):
            assert_close(overload(*positional, **named), known.results)
            assert_close(positional[0], known.results)
        else:  # the result has another shape or dtype than the destination
            assert facts(known.results)


def with_gaps(tensor):
    """The same elements, transposed in memory or with a stride of 2."""
    if tensor.dim() < 2:
        return torch.stack([tensor, tensor], -1)[..., 0]
    return tensor.transpose(0, -1).contiguous().transpose(0, -1)


@pytest.mark.parametrize("name", [n for n in functional() if n not in OF_MEMORY])
def test_layouts_of_operands_do_not_matter(name):
    known = drawn(name)
    actual = known.run(overload_of(name), with_gaps)
    assert facts(actual) == facts(known.results)
    assert_close(actual, known.results)


def narrow(tensor):
    """In a dtype of half the size."""
    halves = {torch.float64: torch.float32, torch.complex128: torch.complex64}
    return tensor.to(halves.get(tensor.dtype, tensor.dtype))


@pytest.mark.parametrize("name", [n for n in functional() if n not in OF_ONE_DTYPE])
def test_float32_gives_float32(name):
    known = drawn(name)
    actual = known.run(overload_of(name), narrow)
    assert_close(actual, mapped(narrow, known.results), 2e-3)
    assert facts(actual) == facts(mapped(narrow, known.results))


def over(name, places):
    """The op as a function of its operands at these places."""
    known = drawn(name)

    def function(*operands):
        positional = list(known.positional)
        for place, operand in zip(places, operands, strict=True):
            positional[place] = operand
        return tuple(tensors(overload_of(name)(*positional, **known.named)))

    return function


def places(name, dtype=None):
    """The positions of the call's tensors (of a dtype)."""
    return [
        k
        for k, value in enumerate(drawn(name).positional)
        if isinstance(value, torch.Tensor) and dtype in (None, value.dtype)
    ]


def second_example(tensor):
    turned = tensor.dim() and tensor.is_floating_point() and tensor.dim() != 2
    return tensor.flip(0) if turned else tensor


@pytest.mark.parametrize("name", [n for n in functional() if n not in NOT_BATCHED])
def test_vmap_agrees_with_a_loop(name):
    if not (places(name) and tensors(drawn(name).results)):
        assert {facts(drawn(name).results) == [], places(name) == []} & {True}
        return
    function = over(name, places(name))
    operands = [drawn(name).positional[k] for k in places(name)]
    pairs = [torch.stack([x, second_example(x)]) for x in operands]
    actual = torch.func.vmap(function)(*pairs)
    each = [function(*(pair[k] for pair in pairs)) for k in range(2)]
    expected = [torch.stack(both) for both in zip(*each, strict=True)]
    assert_close(actual, expected, 1e-7)


def smooth_places(name):
    """The positions of float operands, without statistics: they have no gradient."""
    names = [a.name for a in overload_of(name)._schema.arguments]
    return [
        k for k in places(name, torch.float64) if not names[k].startswith("running_")
    ]


def smooth_function(name):
    """The op as a function from its float operands to its float results."""
    inner = over(name, smooth_places(name))
    return lambda *xs: tuple(y for y in inner(*xs) if y.dtype == torch.float64)


@pytest.mark.parametrize("name", [n for n in functional() if n not in NOT_SMOOTH])
def test_both_modes_give_the_slope_of_differences(name):
    if name.endswith(".x_scalar"):  # polynomials have no derivative by their order
        assert "polynomial" in name
        return
    floats = {t.dtype for t in tensors(drawn(name).results)} & {torch.float64}
    if not (floats and smooth_places(name)):
        assert not floats or not smooth_places(name)
        return
    function = smooth_function(name)
    generator = torch.Generator().manual_seed(5)

    def like(tensor):
        return torch.randn(tensor.shape, generator=generator, dtype=torch.float64)

    def weighed(results):
        return sum((r * w).sum() for r, w in zip(results, weights, strict=True))

    operands = [drawn(name).positional[k] for k in smooth_places(name)]
    steps = [like(x) for x in operands]
    leaves = [x.clone().requires_grad_() for x in operands]
    results = function(*leaves)
    weights = [like(y) if y.requires_grad else torch.zeros_like(y) for y in results]
    assert any(y.requires_grad for y in results)

    def moved(distance):
        pairs = zip(operands, steps, strict=True)
        return weighed(function(*(x + distance * d for x, d in pairs)))

    slope = (moved(1e-6) - moved(-1e-6)) / 2e-6
    grads = torch.autograd.grad(weighed(results), leaves, allow_unused=True)
    pairs = zip(grads, steps, strict=True)
    backward = sum((g * d).sum() for g, d in pairs if g is not None)
    _, tangents = torch.func.jvp(function, tuple(operands), tuple(steps))
    assert_close([backward, weighed(tangents)], [slope, slope], 1e-5)
