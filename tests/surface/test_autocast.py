"""Autocast regions: the dtypes that ops compute in, gradients, and what is kept."""

import pytest

import pellucid as torch
from pellucid import nn
from pellucid.nn import functional as F
from pellucid.utils.checkpoint import checkpoint

X = torch.arange(12.0).reshape(3, 4) / 8
HALF = X.bfloat16()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_products_are_computed_in_the_lower_dtype(dtype):
    with torch.autocast("cpu", dtype=dtype):
        assert (X @ X.T).dtype is dtype
        assert torch.addmm(X[:, :3], X, X.T).dtype is dtype
        assert F.linear(X, X).dtype is dtype
        assert F.conv1d(X[None], torch.ones(2, 3, 2)).dtype is dtype
        assert F.scaled_dot_product_attention(X, X, X).dtype is dtype
        assert torch.einsum("ij,kj->ik", X, X).dtype is dtype
    assert (X @ X.T).dtype is torch.float32


def test_other_ops_keep_their_dtype():
    with torch.autocast("cpu"):
        assert F.relu(HALF).dtype is torch.bfloat16
        assert F.layer_norm(X, (4,)).dtype is torch.float32
        assert F.local_response_norm(HALF[None], 2).dtype is torch.bfloat16
        assert (HALF + X).dtype is torch.float32
        assert (X.double() @ X.double().T).dtype is torch.float64
        assert (X.long() @ X.long().T).dtype is torch.int64


def test_delicate_ops_are_computed_in_float32():
    with torch.autocast("cpu"):
        assert F.mse_loss(HALF, HALF).dtype is torch.float32
        assert F.cross_entropy(HALF, torch.tensor([0, 1, 2])).dtype is torch.float32
        assert torch.prod(HALF).dtype is torch.float32
        assert torch.linalg.svdvals(HALF).dtype is torch.float32


IMAGE = HALF.reshape(1, 1, 3, 4)
COMPOSITIONS = [
    lambda: torch.quantile(HALF, 0.5),
    lambda: torch.cdist(HALF, HALF),
    lambda: HALF[:, :3].trace(),
    lambda: F.triplet_margin_loss(HALF, HALF + 1, HALF),
    lambda: F.margin_ranking_loss(HALF, HALF, target=HALF),
    lambda: F.pad(IMAGE, (1, 1, 1, 1), mode="reflect"),
    lambda: F.grid_sample(IMAGE, IMAGE.new_zeros(1, 2, 2, 2), align_corners=False),
    lambda: torch.linalg.lstsq(HALF.T, HALF.T).solution,
    lambda: F.local_response_norm(IMAGE, 2),
]


@pytest.mark.parametrize("call", COMPOSITIONS)
def test_delicate_compositions_are_computed_in_float32(call):
    with torch.autocast("cpu"):
        result = call()
        assert torch.is_autocast_enabled("cpu")
    assert result.dtype is torch.float32


def test_a_composition_that_fails_leaves_the_region_on():
    with torch.autocast("cpu"):
        with pytest.raises(RuntimeError, match="trace takes a matrix"):
            torch.trace(HALF[0])
        assert torch.is_autocast_enabled("cpu")


def test_joins_and_bilinear_maps_go_to_the_widest_dtype():
    with torch.autocast("cpu"):
        assert F.bilinear(HALF, X, torch.ones(2, 4, 4)).dtype is torch.float32
        assert F.bilinear(HALF, HALF, HALF.new_ones(2, 4, 4)).dtype is torch.bfloat16
        assert torch.cat([HALF, X]).dtype is torch.float32
        assert torch.stack([HALF, HALF]).dtype is torch.bfloat16


def test_operands_of_function_transforms_are_cast():
    weight = torch.ones(4, 2, requires_grad=True)
    with torch.autocast("cpu"):
        batched = torch.func.vmap(lambda row: row @ weight)(X)
        value, tangent = torch.func.jvp(lambda x: x @ weight, (X,), (X,))
        loss = torch.func.vmap(F.mse_loss)(HALF, HALF)
        slope = torch.func.grad(lambda w: (X @ w).float().sum())(weight)
    assert {t.dtype for t in (batched, value, tangent)} == {torch.bfloat16}
    assert loss.dtype is slope.dtype is torch.float32
    assert batched.equal(HALF @ weight.bfloat16())


def test_a_value_is_that_of_cast_operands():
    with torch.autocast("cpu"):
        actual = F.linear(X, X)
    assert actual.equal(F.linear(HALF, HALF))


def test_gradients_have_the_parameters_dtype():
    layer = nn.Linear(4, 2)
    with torch.autocast("cpu"):
        loss = layer(X).float().sum() + layer(X).float().sum()
    loss.backward()
    assert layer.weight.grad.dtype is torch.float32
    assert layer.weight.grad.equal(2 * HALF.float().sum(0).expand(2, 4))


def test_casts_of_parameters_are_cached_within_a_region():
    weight = nn.Parameter(torch.ones(2, 4))
    with torch.autocast("cpu"):
        with torch.no_grad():
            assert F.linear(X, weight).grad_fn is None
        first = F.linear(X, weight)
        assert first.requires_grad  # what ran in no_grad mode is not read here
    with torch.no_grad():
        weight.mul_(2)
    with torch.autocast("cpu"):
        assert F.linear(X, weight).equal(2 * first)


def test_regions_nest_and_end_with_errors():
    with torch.autocast("cpu"):
        assert torch.is_autocast_enabled("cpu")
        with torch.autocast("cpu", enabled=False):
            assert not torch.is_autocast_enabled("cpu")
            assert (X @ X.T).dtype is torch.float32
        with pytest.raises(KeyError), torch.autocast("cpu", dtype=torch.float16):
            assert torch.get_autocast_dtype("cpu") is torch.float16
            raise KeyError
        assert torch.get_autocast_dtype("cpu") is torch.bfloat16
        assert (X @ X.T).dtype is torch.bfloat16
    assert not torch.is_autocast_enabled("cpu")


def test_a_function_may_be_decorated():
    product = torch.autocast("cpu")(torch.mm)
    assert product(X, X.T).dtype is torch.bfloat16


def test_dtypes_that_are_not_half_switch_off():
    with pytest.warns(UserWarning, match="bfloat16 and float16"):
        region = torch.autocast("cpu", dtype=torch.float64)
    with region:
        assert (X @ X.T).dtype is torch.float32


def test_the_state_of_a_thread_may_be_set():
    torch.set_autocast_enabled("cpu", True)
    torch.set_autocast_dtype("cpu", torch.float16)
    try:
        assert torch.is_autocast_cpu_enabled()
        assert (X @ X.T).dtype is torch.float16
    finally:
        torch.set_autocast_enabled("cpu", False)
        torch.set_autocast_dtype("cpu", torch.bfloat16)
    with pytest.raises(RuntimeError, match="no device of type 'cuda'"):
        torch.set_autocast_enabled("cuda", True)


@pytest.mark.parametrize("use_reentrant", [False, True])
def test_a_checkpoint_runs_again_in_its_region(use_reentrant):
    layer = nn.Linear(4, 4)
    x = X.clone().requires_grad_()
    with torch.autocast("cpu"):
        y = checkpoint(layer, x, use_reentrant=use_reentrant)
    assert y.dtype is torch.bfloat16
    y.float().sum().backward()
    kept = x.grad.clone()
    x.grad = None
    with torch.autocast("cpu"):
        layer(x).float().sum().backward()
    assert x.grad.equal(kept)


def test_custom_functions_choose_their_dtype():
    seen = []

    class Product(torch.autograd.Function):
        @staticmethod
        @torch.amp.custom_fwd(device_type="cpu", cast_inputs=torch.float32)
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            return a @ b

        @staticmethod
        @torch.amp.custom_bwd(device_type="cpu")
        def backward(ctx, grad):
            a, b = ctx.saved_tensors
            seen.append(torch.is_autocast_enabled("cpu"))
            return grad @ b.T, a.T @ grad

    x = HALF.clone().requires_grad_()
    with torch.autocast("cpu"):
        y = Product.apply(x, X.T)
        assert y.dtype is torch.float32
        y.sum().backward()
    assert seen == [False]
    assert x.grad.dtype is torch.bfloat16
