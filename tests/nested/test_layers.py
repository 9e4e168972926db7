"""Modules on nested tensors: each example as if it were alone."""

import pytest

import pellucid as torch
from pellucid import nn


def _examples():
    torch.manual_seed(5)
    return [torch.randn(n, 8) for n in (2, 5, 1)]


def _nested(**given):
    return torch.nested.nested_tensor(_examples(), layout=torch.jagged, **given)


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
    found = encoder(x)
    for one, each in zip(found.unbind(), _examples(), strict=True):
        torch.testing.assert_close(one, encoder(each[None])[0])
    found.sum().backward()
    assert all(p.grad is not None for p in encoder.parameters())
    assert x.grad.shape == x.shape
    with pytest.raises(RuntimeError, match="need_weights"):
        layer.self_attn(x, x, x)


def test_embedding():
    words = torch.nested.nested_tensor([[1, 2], [3]], layout=torch.jagged)
    table = nn.Embedding(5, 4)
    found = table(words)
    assert [tuple(each.shape) for each in found.unbind()] == [(2, 4), (1, 4)]
    found.sum(1).sum().backward()
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
