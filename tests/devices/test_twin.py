"""Tensors on a device with only memory: creation, copies, views, training, refusals."""

import io
import subprocess
import sys

import pytest

import pellucid as torch
import pellucid.nn.functional as F
from pellucid import nn


def test_a_tensor_goes_there_and_back(twin):
    values = torch.arange(6.0).reshape(2, 3)
    moved = values.to(twin)
    assert (moved.device, moved.cpu().tolist()) == (twin, values.tolist())
    assert moved.tolist() == values.tolist()
    assert moved[1, 2].item() == 5


def test_a_device_without_an_index_is_the_current_one(twin):
    assert torch.empty(2, device="twin").device == twin
    torch._C._set_current_device(torch.device("twin:1"))
    try:
        assert torch.ones(2, device="twin").device == torch.device("twin:1")
    finally:
        torch._C._set_current_device(twin)


def test_factories_make_tensors_there(twin):
    torch.manual_seed(3)
    expected = torch.rand(4)
    torch.manual_seed(3)
    assert torch.equal(torch.rand(4, device=twin).cpu(), expected)
    result = [
        torch.zeros(3, device=twin),
        torch.full((3,), 2, device=twin),
        torch.tensor([1, 2, 3], device=twin),
        torch.arange(3, device=twin),
        torch.ones(3, device=twin).new_zeros(3),
    ]
    assert all(t.device == twin for t in result)
    assert [t.tolist() for t in result[1:4]] == [[2] * 3, [1, 2, 3], [0, 1, 2]]


def test_views_share_memory_and_do_not_run_on_the_cpu(twin):
    base = torch.zeros(4, 6, device=twin)
    before = torch.devices.counts(twin)
    view = base.t()[1:4].unsqueeze(0).narrow(2, 1, 2).reshape(3, 2)
    assert torch.devices.counts(twin) == before
    assert view.device == twin
    view.fill_(7)
    assert base.sum().item() == 7 * 6
    assert view.data_ptr() != base.data_ptr()


def test_an_in_place_op_writes_the_elements_of_its_view_alone(twin):
    base = torch.zeros(3, 3, device=twin)
    version = base._version
    base[:, 1].add_(torch.ones(3, device=twin))
    assert base.tolist() == [[0, 1, 0]] * 3
    assert base._version > version


def test_out_takes_another_shape(twin):
    out = torch.empty(0, device=twin)
    torch.add(torch.ones(2, 2, device=twin), 1, out=out)
    assert out.tolist() == [[2, 2], [2, 2]]


def test_copies_between_devices_convert(twin):
    first = torch.arange(4, device=twin)
    other = torch.empty(2, 2, device="twin:1").t()
    other.copy_(first.view(2, 2))
    assert other.tolist() == [[0, 1], [2, 3]]
    assert first.to("twin:1", torch.float64).dtype is torch.float64


def test_numbers_of_the_cpu_join_tensors_of_the_device(twin):
    assert (torch.ones(2, device=twin) * torch.tensor(3.0)).tolist() == [3, 3]


def test_gradients_cross_devices(twin):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    (x.to(twin) ** 2).sum().backward()
    assert x.grad.device.type == "cpu"
    assert x.grad.tolist() == [2, 4]


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(11, 16)
        self.layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
        self.head = nn.Linear(16, 4)

    def forward(self, x):
        return self.head(self.layer(self.embedding(x)).mean(1))


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(8, 8, batch_first=True)
        self.head = nn.Linear(8, 4)

    def forward(self, x):
        return self.head(self.lstm(x[:, None].expand(-1, 3, -1))[0][:, -1])


def perceptron():
    layers = (nn.Linear(8, 16), nn.ReLU(), nn.Dropout(0.2), nn.LayerNorm(16))
    return nn.Sequential(*layers, nn.Linear(16, 4))


def convolutional():
    first = (nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU())
    second = (nn.MaxPool2d(2), nn.Conv2d(8, 8, 3), nn.Flatten(), nn.Linear(32, 4))
    return nn.Sequential(*first, *second)


ROWS = torch.linspace(-1, 1, 128).reshape(16, 8).sin()
MODELS = {
    "perceptron": (perceptron, ROWS),
    "convolutional": (convolutional, ROWS[:, :, None].expand(-1, -1, 8)[:, None].cos()),
    "attention": (Attention, torch.arange(80).reshape(16, 5) % 11),
    "recurrent": (Recurrent, ROWS),
}


def trained(make, x, device, optimizer):
    torch.manual_seed(0)
    model = make().to(device)
    chosen = getattr(torch.optim, optimizer)(model.parameters(), lr=0.01)
    x, y = x.to(device), (torch.arange(16) % 4).to(device)
    losses = []
    for _ in range(3):
        chosen.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        chosen.step()
        losses.append(loss.item())
    return losses, [p.tolist() for p in model.parameters()]


@pytest.mark.parametrize("optimizer", ["SGD", "AdamW"])
@pytest.mark.parametrize("model", MODELS)
def test_training_gives_the_cpus_bits(twin, model, optimizer):
    make, x = MODELS[model]
    assert trained(make, x, twin, optimizer) == trained(make, x, "cpu", optimizer)


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda t: t + torch.ones(2), RuntimeError, "found at least two devices"),
        (lambda t: t + t.to("twin:1"), RuntimeError, "same device"),
        (
            lambda t: torch.ones(1, device="twin:7"),
            RuntimeError,
            "invalid device ordinal",
        ),
        (lambda t: t.numpy(), TypeError, "cpu()"),
        (lambda t: t[torch.tensor([5], device=t.device)], IndexError, "out of bounds"),
        (lambda t: torch.devices.set_fallback(t.device, "no"), ValueError, "policy"),
    ],
)
def test_bad_calls_say_what_to_do(twin, call, kind, words):
    with pytest.raises(kind) as error:
        call(torch.zeros(2, device=twin))
    assert words in str(error.value)
    assert len(str(error.value).splitlines()) <= 10


def test_the_fallback_can_be_refused_and_warned_of(twin):
    x = torch.ones(3, device=twin)
    try:
        torch.devices.set_fallback(twin, "error")
        with pytest.raises(NotImplementedError, match=r"aten::sin.*does not launch"):
            x.sin()
        assert x.view(1, 3).shape == (1, 3)
        torch.devices.set_fallback(twin, "warn")
        with pytest.warns(UserWarning, match="aten::sin"):
            x.sin()
    finally:
        torch.devices.set_fallback(twin, "allow")


def test_a_stray_read_ends_the_process_and_names_the_device():
    program = (
        "import ctypes, pellucid as torch\n"
        "torch.devices.register_twin()\n"
        "ctypes.string_at(torch.ones(3, device='twin:1').data_ptr(), 4)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True
    )
    assert done.returncode < 0
    assert "the CPU touched the memory of twin:1" in done.stderr


def test_files_keep_the_device_and_can_be_loaded_to_another(twin):
    base = torch.arange(6.0, device=twin)
    file = io.BytesIO()
    torch.save({"base": base, "part": base[2:]}, file)

    def load(**where):
        file.seek(0)
        return torch.load(file, **where)

    same = load()
    assert same["base"].device == twin
    same["part"].fill_(1)
    assert same["base"].tolist() == [0, 1, 1, 1, 1, 1]
    assert load(map_location="cpu")["part"].tolist() == [2, 3, 4, 5]
    assert load(map_location={"twin:0": "twin:1"})["base"].device.index == 1
    assert load(map_location="twin:1")["base"].tolist() == base.tolist()
