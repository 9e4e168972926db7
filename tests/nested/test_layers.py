"""Modules on nested tensors: each example as if it were alone."""

import pytest

import pellucid as torch
from pellucid import nn


def _examples():
    torch.manual_seed(5)
    return [torch.randn(n, 8) for n in (2, 5, 1)]


def _nested(**arguments):
    return torch.nested.nested_tensor(_examples(), layout=torch.jagged, **arguments)


LAYERS = {
    "linear": lambda: nn.Linear(8, 3),
    "norms": lambda: nn.Sequential(nn.LayerNorm(8), nn.RMSNorm(8)),
    "mlp": lambda: nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 2)),
    "dropout": lambda: nn.Dropout(0.0),
}


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_treats_each_example_alone(name):
    layer = LAYERS[name]()
    expected = [layer(each) for each in _examples()]
    for one, other in zip(layer(_nested()).unbind(), expected, strict=True):
        torch.testing.assert_close(one, other)


def test_attention_and_encoders():
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, dropout=0.0)
    encoder = nn.TransformerEncoder(layer, 2)
    x = _nested(requires_grad=True)
    actual = encoder(x)
    for one, each in zip(actual.unbind(), _examples(), strict=True):
        torch.testing.assert_close(one, encoder(each[None])[0])
    actual.sum().backward()
    assert all(p.grad is not None for p in encoder.parameters())
    assert x.grad.shape == x.shape
    with pytest.raises(RuntimeError, match="need_weights"):
        layer.self_attn(x, x, x)


@pytest.mark.parametrize("per_head", [False, True])
def test_a_mask_is_cut_to_each_example(per_head):
    layer = nn.MultiheadAttention(8, 2, batch_first=True)
    mask = torch.rand(*((6,) if per_head else ()), 5, 5) > 0.6
    mask[..., range(5), range(5)] = False
    x = _nested()
    actual, _ = layer(x, x, x, attn_mask=mask, need_weights=False)
    for k, (one, each) in enumerate(zip(actual.unbind(), _examples(), strict=True)):
        own = mask[2 * k : 2 * k + 2] if per_head else mask
        own = own[..., : len(each), : len(each)]
        expected, _ = layer(*[each[None]] * 3, attn_mask=own, need_weights=False)
        torch.testing.assert_close(one, expected[0])
    with pytest.raises(RuntimeError, match="key_padding_mask"):
        layer(x, x, x, key_padding_mask=mask, need_weights=False)


def test_an_encoder_leaves_padding_out():
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    encoder = nn.TransformerEncoder(layer, 2).eval()
    x, padding = torch.randn(3, 6, 8), torch.zeros(3, 6, dtype=torch.bool)
    padding[0, 4:] = padding[2, 1:] = True
    rows = []
    hook = encoder.layers[0].linear1.register_forward_hook(
        lambda module, inputs, out: rows.append(inputs[0].numel() // 8)
    )
    with torch.no_grad():
        actual = encoder(x, src_key_padding_mask=padding)
        encoder.enable_nested_tensor = False
        padded = encoder(x, src_key_padding_mask=padding)
    hook.remove()
    assert rows == [11, 18] and actual[padding].unique().tolist() == [0.0]
    torch.testing.assert_close(actual[~padding], padded[~padding])


def test_embedding():
    words = torch.nested.nested_tensor([[1, 2], [3]], layout=torch.jagged)
    table = nn.Embedding(5, 4)
    actual = table(words)
    assert [tuple(each.shape) for each in actual.unbind()] == [(2, 4), (1, 4)]
    actual.sum(1).sum().backward()
    assert table.weight.grad.sum(1).tolist() == [0.0, 4.0, 4.0, 4.0, 0.0]


def test_a_classifier_trains():
    model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 2))
    optimizer = torch.optim.Adam(model.parameters(), 0.05)
    x, labels = _nested(), torch.tensor([0, 1, 0])
    losses = []
    for _ in range(30):
        loss = nn.functional.cross_entropy(model(x).mean(1), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.2 * losses[0]
