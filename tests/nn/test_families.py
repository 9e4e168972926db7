"""Layers of every family: shapes, identities that hold exactly, and figures from
PyTorch for seeded weights.
"""

import pytest

import pellucid as torch
from pellucid import nn
from pellucid.nn import functional as F

close = torch.allclose


def ramp(*shape):
    """Numbers that differ everywhere, the same in every run."""
    count = 1
    for n in shape:
        count *= n
    return ((torch.arange(count) * 7919 % 1009).float() / 504 - 1).reshape(shape)


def seeded(make):
    torch.manual_seed(0)
    return make()


# Convolutions


@pytest.mark.parametrize(
    ("dims", "options"),
    [
        (1, {"stride": 2, "padding": 1}),
        (2, {}),
        (2, {"stride": 2, "padding": 1}),
        (2, {"groups": 2}),
        (3, {}),
    ],
)
def test_a_convolution_is_a_product_of_patches(dims, options):
    layer = seeded(lambda: getattr(nn, f"Conv{dims}d")(4, 6, 3, **options))
    x = ramp(2, 4, *(7, 6, 5)[:dims])
    y = layer(x)
    padding, stride = options.get("padding", 0), options.get("stride", 1)
    groups = options.get("groups", 1)
    padded = F.pad(x, (padding,) * (2 * dims))
    for d in range(dims):
        padded = padded.unfold(2 + d, 3, stride)
    parts = []
    for part, weight in zip(
        padded.chunk(groups, 1), layer.weight.chunk(groups), strict=True
    ):
        kernel = [1, *range(2 + dims, 2 + 2 * dims)]
        parts.append(torch.tensordot(part, weight, (kernel, range(1, 2 + dims))))
    expected = torch.cat([p.movedim(-1, 1) for p in parts], 1)
    bias = layer.bias.reshape(-1, *(1,) * dims)
    assert close(y, expected + bias, atol=1e-5)


@pytest.mark.parametrize("dims", [1, 2])
def test_a_transposed_convolution_is_the_transpose(dims):
    options = {"stride": 2, "padding": 1, "dilation": 2, "groups": 2}
    shape = (9, 8, 7)[:dims]
    convolve = getattr(F, f"conv{dims}d")
    transposed = getattr(F, f"conv_transpose{dims}d")
    weight = ramp(4, 3, *(2,) * dims)
    x = ramp(2, 6, *shape)
    y = convolve(x, weight, **options)
    g = ramp(*y.shape)
    back = transposed(g, weight, output_padding=[(n + 1) % 2 for n in shape], **options)
    assert back.shape == x.shape
    assert close((y * g).sum(), (x * back).sum(), rtol=1e-4)


def test_transposed_convolutions_have_the_gradients_of_their_sums():
    x = ramp(1, 2, 4, 3).double().requires_grad_()
    weight = ramp(2, 3, 2, 3).double().requires_grad_()
    bias = ramp(3).double().requires_grad_()

    def run(*inputs):
        return F.conv_transpose2d(*inputs, stride=2, padding=1)

    assert torch.autograd.gradcheck(run, (x, weight, bias))


@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular"])
def test_padding_modes_pad_before_the_convolution(mode):
    layer = seeded(lambda: nn.Conv2d(2, 3, 3, padding=1, padding_mode=mode))
    plain = nn.Conv2d(2, 3, 3)
    plain.load_state_dict(layer.state_dict())
    x = ramp(1, 2, 5, 4)
    assert close(layer(x), plain(F.pad(x, (1, 1, 1, 1), mode)), atol=1e-6)


def test_seeded_weights_are_those_of_pytorch():
    conv = seeded(lambda: nn.Conv2d(1, 1, 2))
    figures = [-0.0037411, 0.26822, -0.41152, -0.36797]
    assert close(conv.weight.flatten(), torch.tensor(figures), atol=1e-5)
    lstm = seeded(lambda: nn.LSTM(1, 1))
    figures = [-0.0074831, 0.53644, -0.82305, -0.73594]
    assert close(lstm.weight_ih_l0.flatten(), torch.tensor(figures), atol=1e-4)


# Pooling


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_pooling_is_a_reduction_of_windows(dims):
    x = ramp(2, 3, *(6, 5, 4)[:dims])
    windows = x
    for d in range(dims):
        windows = windows.unfold(2 + d, 2, 2)
    windows = windows.flatten(-dims)
    greatest, places = getattr(F, f"max_pool{dims}d")(x, 2, return_indices=True)
    assert torch.equal(greatest, windows.amax(-1))
    assert torch.equal(x.flatten(2).gather(2, places.flatten(2)), greatest.flatten(2))
    assert torch.equal(getattr(F, f"max_pool{dims}d")(x, 2), greatest)
    mean = getattr(F, f"avg_pool{dims}d")(x, 2)
    assert close(mean, windows.mean(-1), atol=1e-6)


def test_the_first_of_ties_takes_the_gradient():
    x = torch.ones(1, 1, 4, requires_grad=True)
    F.max_pool1d(x, 2).sum().backward()
    assert x.grad.flatten().tolist() == [1, 0, 1, 0]


def test_padding_counts_in_means_by_default():
    x = torch.ones(1, 1, 3)
    assert F.avg_pool1d(x, 2, 2, 1).flatten().tolist() == [0.5, 1.0]
    actual = F.avg_pool1d(x, 2, 2, 1, count_include_pad=False)
    assert actual.flatten().tolist() == [1.0, 1.0]


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7])
def test_adaptive_pooling_covers_every_element(size):
    x = ramp(1, 2, 5).requires_grad_()
    y = F.adaptive_avg_pool1d(x, size)
    assert y.shape == (1, 2, size)
    y.sum().backward()
    assert (x.grad > 0).all()
    assert F.adaptive_max_pool1d(x, size).amax() == x.amax()


def test_unpooling_puts_elements_back():
    x = ramp(1, 1, 4, 4)
    pooled, places = F.max_pool2d(x, 2, return_indices=True)
    back = F.max_unpool2d(pooled, places, 2)
    assert torch.equal(back[back != 0], x[back != 0])
    assert (back != 0).sum() == 4


def test_windows_must_fit():
    with pytest.raises(RuntimeError, match="output would have size"):
        F.max_pool2d(torch.ones(1, 1, 2, 2), 3)
    with pytest.raises(RuntimeError, match="more than half"):
        F.avg_pool1d(torch.ones(1, 1, 5), 2, 1, 2)


def test_windows_have_a_number_for_each_dim_or_one_for_all():
    x = torch.randn(1, 1, 4, 4)
    for pool in (F.avg_pool2d, F.max_pool2d):
        assert pool(x, [2]).equal(pool(x, [2, 2]))
    with pytest.raises(RuntimeError, match="must be 1 numbers"):
        F.avg_pool1d(torch.ones(1, 2, 4), [1, 1])
    with pytest.raises(RuntimeError, match="must be 2 numbers"):
        F.avg_pool2d(torch.ones(1, 4, 4, 4), [2, 2, 2])


# Norms


def test_batch_norm_normalizes_and_remembers():
    norm = nn.BatchNorm2d(3)
    x = ramp(4, 3, 5, 2)
    y = norm(x)
    assert close(y.mean((0, 2, 3)), torch.zeros(3), atol=1e-5)
    assert close(y.var((0, 2, 3), correction=0), torch.ones(3), atol=1e-3)
    assert close(norm.running_mean, x.mean((0, 2, 3)) * 0.1, atol=1e-6)
    assert close(norm.running_var, 0.9 + x.var((0, 2, 3)) * 0.1, atol=1e-5)
    assert norm.num_batches_tracked == 1
    norm.eval()
    shape = (1, 3, 1, 1)
    mean, variance = norm.running_mean.view(shape), norm.running_var.view(shape)
    assert close(norm(x), (x - mean) / (variance + 1e-5).sqrt(), atol=1e-5)


def test_batch_norm_has_the_gradients_of_its_formula():
    x = ramp(4, 3, 2).double().requires_grad_()
    weight = ramp(3).double().requires_grad_()
    bias = ramp(3).double().requires_grad_()

    def run(x, weight, bias):
        return F.batch_norm(x, None, None, weight, bias, training=True)

    assert torch.autograd.gradcheck(run, (x, weight, bias))
    assert torch.autograd.gradgradcheck(run, (x, weight, bias))


def test_one_value_per_channel_is_refused_in_training():
    with pytest.raises(ValueError, match="more than 1 value per channel"):
        nn.BatchNorm1d(3)(torch.ones(1, 3))


def test_instance_norm_is_batch_norm_of_each_image():
    x = ramp(2, 3, 4, 5)
    y = nn.InstanceNorm2d(3)(x)
    each = [F.batch_norm(image[None], None, None, training=True) for image in x]
    assert close(y, torch.cat(each), atol=1e-5)


# Recurrent layers


@pytest.mark.parametrize("kind", ["RNN", "GRU", "LSTM"])
def test_a_layer_is_its_cell_over_time(kind):
    layer = seeded(lambda: getattr(nn, kind)(3, 4))
    cell = getattr(nn, f"{kind}Cell")(3, 4)
    names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    cell.load_state_dict({n: layer.state_dict()[f"{n}_l0"] for n in names})
    x, state, outputs = ramp(5, 2, 3), None, []
    for step in x:
        state = cell(step, state)
        outputs.append(state[0] if kind == "LSTM" else state)
    y, last = layer(x)
    assert close(y, torch.stack(outputs), atol=1e-6)
    assert close((last[0] if kind == "LSTM" else last)[0], outputs[-1], atol=1e-6)


@pytest.mark.parametrize("bidirectional", [False, True])
def test_packed_sequences_are_run_one_by_one(bidirectional):
    layer = seeded(lambda: nn.GRU(3, 4, 2, bidirectional=bidirectional))
    lengths = [2, 5, 3]
    sequences = [ramp(n, 3) + n for n in lengths]
    packed = nn.utils.rnn.pack_sequence(sequences, enforce_sorted=False)
    output, last = layer(packed)
    actual = nn.utils.rnn.unpack_sequence(output)
    for k, sequence in enumerate(sequences):
        alone, end = layer(sequence)
        assert close(actual[k], alone, atol=1e-6)
        assert close(last[:, k], end, atol=1e-6)


def test_padding_and_packing_undo_each_other():
    sequences = [ramp(n, 2) for n in (4, 2, 1)]
    padded = nn.utils.rnn.pad_sequence(sequences, batch_first=True, padding_value=9.0)
    assert padded.shape == (3, 4, 2) and (padded[2, 1:] == 9).all()
    packed = nn.utils.rnn.pack_padded_sequence(padded, [4, 2, 1], batch_first=True)
    assert packed.batch_sizes.tolist() == [3, 2, 1, 1]
    back, lengths = nn.utils.rnn.pad_packed_sequence(packed, batch_first=True)
    assert lengths.tolist() == [4, 2, 1]
    assert torch.equal(back[1, :2], sequences[1]) and (back[1, 2:] == 0).all()


# Attention


def test_attention_without_weights_is_the_same():
    layer = seeded(lambda: nn.MultiheadAttention(8, 2, batch_first=True)).eval()
    x = ramp(2, 5, 8)
    causal = nn.Transformer.generate_square_subsequent_mask(5)
    y, weights = layer(x, x, x, attn_mask=causal)
    assert weights.shape == (2, 5, 5) and (weights.triu(1) == 0).all()
    assert close(weights.sum(-1), torch.ones(2, 5), atol=1e-6)
    other, none = layer(x, x, x, attn_mask=causal, need_weights=False)
    assert none is None and close(y, other, atol=1e-6)


def test_padded_keys_are_not_seen():
    layer = seeded(lambda: nn.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True))
    x = ramp(1, 4, 8)
    hidden = torch.tensor([[False, False, False, True]])
    y = layer(x, src_key_padding_mask=hidden)
    x[:, 3] = 5.0
    assert close(layer(x, src_key_padding_mask=hidden)[:, :3], y[:, :3], atol=1e-6)


def test_an_encoder_leaves_zeros_in_the_padding():
    layer = seeded(lambda: nn.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True))
    encoder = nn.TransformerEncoder(layer, 2).eval()
    x = ramp(2, 5, 8)
    padding = torch.tensor([[False] * 5, [False] * 3 + [True] * 2])
    with torch.no_grad():
        out = encoder(x, src_key_padding_mask=padding)
        alone = encoder(x[1:, :3])
    assert (out[1, 3:] == 0).all()
    assert (out[0] != 0).all()
    assert close(out[1, :3], alone[0], atol=1e-6)
    kept = encoder(x, src_key_padding_mask=padding)  # gradients need every row
    assert (kept[1, 3:] != 0).all()


def test_a_transformer_trains_all_its_parameters():
    model = seeded(lambda: nn.Transformer(8, 2, 1, 1, 16, 0.0, batch_first=True))
    model(ramp(2, 3, 8), ramp(2, 4, 8)).square().sum().backward()
    assert all(p.grad is not None for p in model.parameters())


# Losses, images, lazy layers


def test_losses_agree_with_their_formulas():
    x, y = ramp(4, 3), ramp(4, 3).flip(0)
    sign = torch.tensor([1.0, -1.0, 1.0, -1.0])
    assert close(
        F.soft_margin_loss(x, y.sign()), (1 + (-y.sign() * x).exp()).log().mean()
    )
    cosine = (x * y).sum(1) / (x.norm(dim=1) * y.norm(dim=1))
    assert close(F.cosine_similarity(x, y), cosine, atol=1e-6)
    rows, columns = x.reshape(1, 4, 3), y.reshape(4, 1, 3)  # broadcast before norms
    whole = rows.expand(4, 4, 3), columns.expand(4, 4, 3)
    actual = F.cosine_similarity(rows, columns, -2)
    assert close(actual, F.cosine_similarity(*whole, -2), atol=1e-6)
    expected = torch.where(sign > 0, 1 - cosine, cosine.clamp_min(0)).mean()
    assert close(F.cosine_embedding_loss(x, y, sign), expected, atol=1e-6)
    poisson = (x.exp() - y * x).mean()
    assert close(F.poisson_nll_loss(x, y), poisson, atol=1e-6)


@pytest.mark.parametrize("mode", ["nearest", "bilinear", "bicubic", "area"])
def test_resampling_to_the_same_size_changes_nothing(mode):
    x = ramp(1, 2, 4, 5)
    assert close(F.interpolate(x, (4, 5), mode=mode), x, atol=1e-6)


def test_a_grid_of_the_identity_changes_nothing():
    x = ramp(2, 3, 4, 5)
    theta = torch.eye(2, 3).expand(2, 2, 3)
    for align in (False, True):
        grid = F.affine_grid(theta, (2, 3, 4, 5), align)
        assert close(F.grid_sample(x, grid, align_corners=align), x, atol=1e-5)


def test_folding_sums_what_unfolding_repeats():
    x = ramp(1, 2, 5, 4)
    count = F.fold(F.unfold(torch.ones_like(x), 3, padding=1), (5, 4), 3, padding=1)
    assert close(F.fold(F.unfold(x, 3, padding=1), (5, 4), 3, padding=1), x * count)


def test_shuffles_undo_each_other():
    x = ramp(2, 8, 3, 5)
    assert torch.equal(F.pixel_unshuffle(F.pixel_shuffle(x, 2), 2), x)
    assert torch.equal(F.channel_shuffle(F.channel_shuffle(x, 2), 4), x)


def test_lazy_layers_take_shapes_from_the_first_input():
    model = nn.Sequential(
        nn.LazyConv2d(4, 3), nn.LazyBatchNorm2d(), nn.Flatten(), nn.LazyLinear(2)
    )
    with pytest.raises(RuntimeError, match="no shape before the first input"):
        _ = model[3].weight.shape
    assert model(ramp(3, 2, 5, 5)).shape == (3, 2)
    assert [type(m).__name__ for m in model[:2]] == ["Conv2d", "BatchNorm2d"]
    assert model[3].weight.shape == (2, 36)
    other = nn.Sequential(
        nn.LazyConv2d(4, 3), nn.LazyBatchNorm2d(), nn.Flatten(), nn.LazyLinear(2)
    )
    other.load_state_dict(model.state_dict())
    assert torch.equal(other[3].weight, model[3].weight)


def test_embedding_bags_reduce_rows():
    table = ramp(6, 3)
    indices, offsets = torch.tensor([1, 2, 4, 5]), torch.tensor([0, 3])
    actual = F.embedding_bag(indices, table, offsets, mode="sum")
    assert close(actual, torch.stack([table[[1, 2, 4]].sum(0), table[5]]))
    rows = torch.tensor([[0, 1], [2, 3]])
    assert close(F.embedding_bag(rows, table), table[rows].mean(1))
    assert close(F.embedding_bag(rows, table, mode="max"), table[rows].amax(1))
    padded = F.embedding_bag(rows, table, mode="max", padding_idx=1)
    assert close(padded, torch.stack([table[0], table[[2, 3]].amax(0)]))
    on_meta = rows.to("meta"), table.to("meta")
    assert F.embedding_bag(*on_meta, mode="max", padding_idx=1).shape == padded.shape


def test_gradients_of_patches_cost_what_patches_cost():
    # a sum over all places of the kernel for each element took a minute
    x = torch.ones(1, 8, 160, 160, requires_grad=True)
    F.unfold(x, 3, padding=1).sum().backward()
    counts = torch.tensor([2.0, *[3.0] * 158, 2.0])
    assert torch.equal(x.grad, torch.outer(counts, counts).expand(1, 8, 160, 160))
