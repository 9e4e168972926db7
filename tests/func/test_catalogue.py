"""vmap and forward mode of every declared op, against a loop and against differences.

The sample calls come from the schemas (``catalogue.py``). The last test says that
every op has one.
"""

import pytest

import pellucid as torch
from pellucid.func import jvp, vmap
from pellucid_compiler.declare import REGISTRY

from .catalogue import BATCH, native_calls

STEP = 1e-6
# Factories have no tensor to map over; foreach ops are pointwise ops on lists; the size
# of what the others return depends on the data.
NAMES = [
    name
    for name, op in REGISTRY.items()
    if op.kind not in ("factory", "foreach", "data_dependent")
]
DATA_DEPENDENT = [n for n, op in REGISTRY.items() if op.kind == "data_dependent"]
# Results or slopes that are left out on purpose, as PyTorch does; remainder's sample
# crosses a jump; nll_loss accepts a sample whose sizes do not fit; symmetric matrices
# are read in one triangle; geqrf and ldl have no derivative, the neighbour of a number
# moves with it, none goes through the statistics of attention and of layer norms,
# boxes of regions have no derivative (tests/utils/test_vision_regions.py), and the last
# ones have none by their first argument.
NOT_DERIVATIVES = {
    *(
        "pellucid::_roi_align",
        "pellucid::_ps_roi_align",
        "pellucid::_roi_pool",
        "pellucid::_ps_roi_pool",
    ),
    "_scaled_dot_product_flash_attention_for_cpu",
    "native_layer_norm",
    "pellucid::_batch_norm_with_batch",
    "pellucid::_linalg_cholesky",
    "_linalg_eigh",
    "pellucid::_linalg_eigvalsh",
    "pellucid::_linalg_ldl",
    "linalg_ldl_solve",
    "geqrf",
    "igamma",
    "igammac",
    "special_zeta",
    "ctc_loss.Tensor",
    "nll_loss",
    "remainder.Tensor",
}
LOOPED = {name for name in NAMES if REGISTRY[name].kind != "random"}


def stacked(tensors, mapped):
    """Examples of the tensors that ``mapped`` names, and their dims."""
    values = [
        torch.stack(
            [t + 0.03 * k if t.is_floating_point() else t for k in range(BATCH)]
        )
        if place in mapped
        else t
        for place, t in enumerate(tensors)
    ]
    return values, tuple(0 if k in mapped else None for k in range(len(tensors)))


def choices(count):
    """Which tensors are batched: the first, the last, all of them."""
    return {(0,), (count - 1,), tuple(range(count))}


def assert_same(result, expected):
    assert result.shape == expected.shape
    assert result.dtype == expected.dtype
    if expected.is_floating_point():
        assert torch.allclose(result, expected, 1e-9, 1e-9, equal_nan=True)
    else:
        assert bool((result == expected).all())


@pytest.mark.parametrize("name", sorted(LOOPED))
def test_vmap_is_a_loop_over_the_examples(name):
    for call in native_calls(name):
        tensors = call.tensors()
        for mapped in choices(len(tensors)):
            values, dims = stacked(tensors, mapped)
            rows = [
                call(
                    *(
                        v if d is None else v[k]
                        for v, d in zip(values, dims, strict=True)
                    )
                )
                for k in range(BATCH)
            ]
            for position, result in enumerate(vmap(call, dims)(*values)):
                assert_same(result, torch.stack([row[position] for row in rows]))


@pytest.mark.parametrize("name", [n for n in NAMES if REGISTRY[n].kind == "random"])
def test_random_ops_draw_for_every_example(name):
    (call, *_) = native_calls(name)
    values, dims = stacked(call.tensors(), (0,))
    with pytest.raises(RuntimeError, match="randomness"):
        vmap(call, dims)(*values)
    shapes = [r.shape for r in call(*call.tensors())]
    for result, shape in zip(
        vmap(call, dims, randomness="different")(*values), shapes, strict=True
    ):
        assert tuple(result.shape) == (BATCH, *shape)


@pytest.mark.parametrize("name", DATA_DEPENDENT)
def test_data_dependent_ops_are_refused(name):
    for call in native_calls(name):
        values, dims = stacked(call.tensors(), (0,))
        with pytest.raises(RuntimeError, match="vmap"):
            vmap(call, dims)(*values)


class Moved:
    """The float results of a call as a function of its float tensors."""

    def __init__(self, call):
        self.call, self.tensors = call, call.tensors()
        self.floats = places_of_floats(self.tensors)
        self.results = places_of_floats(call(*self.tensors))
        torch.manual_seed(1)
        self.primals = [self.tensors[k] for k in self.floats]
        self.tangents = [torch.randn(p.shape, dtype=p.dtype) for p in self.primals]

    def __call__(self, *values):
        tensors = list(self.tensors)
        for place, value in zip(self.floats, values, strict=True):
            tensors[place] = value
        torch.manual_seed(3)
        results = self.call(*tensors)
        return [results[k] for k in self.results]

    def at(self, distance):
        pairs = zip(self.primals, self.tangents, strict=True)
        return self(*(p + distance * t for p, t in pairs))

    def differences(self):
        return [
            (above - below) / (2 * STEP)
            for above, below in zip(self.at(STEP), self.at(-STEP), strict=True)
        ]


def places_of_floats(tensors):
    return [k for k, t in enumerate(tensors) if t.is_floating_point()]


@pytest.mark.parametrize("name", sorted(set(NAMES) - NOT_DERIVATIVES))
def test_tangents_are_differences(name):
    for call in native_calls(name):
        moved = Moved(call)
        if not moved.floats or not moved.results:
            real = [r for r in recorded(call) if not r.is_complex()]
            assert not any(result.requires_grad for result in real)
            continue
        _, tangents = jvp(moved, tuple(moved.primals), tuple(moved.tangents))
        for tangent, expected in zip(tangents, moved.differences(), strict=True):
            assert tangent.shape == expected.shape
            error = (tangent - expected).abs() / (1 + expected.abs())
            assert bool((error < 1e-4).all())


def recorded(call):
    """The results of a call whose float tensors require a gradient."""
    tensors = [t.detach() for t in call.tensors()]
    return call(*(t.requires_grad_(t.is_floating_point()) for t in tensors))


def test_every_op_has_a_sample_call():
    assert [name for name in NAMES if not native_calls(name)] == []
