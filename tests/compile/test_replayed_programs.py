"""Programs as users write them are replayed without Python, with results of eager."""

import abc
import weakref

import pytest

import pellucid as torch

pytestmark = pytest.mark.usefixtures("untraced")
functional = torch.nn.functional
CALLS = 14
PROGRAMS = {}


def program(make):
    PROGRAMS[make.__name__] = make
    return make


def step_of(model, *data, finish=lambda model: None):
    """A training step, which returns its loss."""
    updates = torch.optim.AdamW(model.parameters(), lr=0.01)

    def step():
        updates.zero_grad()
        loss = model(*data).square().mean()
        loss.backward()
        finish(model)
        updates.step()
        return loss.detach()

    return step


@program
def encoder_with_dropout():
    layer = torch.nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
    return step_of(layer, torch.randn(2, 5, 16))


@program
def attention_without_gradients():
    attention = torch.nn.MultiheadAttention(16, 2, batch_first=True)
    x = torch.randn(2, 5, 16)

    def attend():
        with torch.no_grad():
            return attention(x, x, x)[0] * 1

    return attend


@program
def dropout():
    layers = (torch.nn.Linear(8, 8), torch.nn.Dropout(0.3), torch.nn.Linear(8, 2))
    return step_of(torch.nn.Sequential(*layers), torch.randn(4, 8))


@program
def clipped_gradients():
    return step_of(
        torch.nn.Linear(8, 8),
        torch.randn(4, 8),
        finish=lambda m: torch.nn.utils.clip_grad_norm_(m.parameters(), 0.1),
    )


@program
def scheduled_optimizer():
    model, x = torch.nn.Linear(8, 8), torch.randn(4, 8)
    step = step_of(model, x)
    updates = step.__closure__[-1].cell_contents
    torch.optim.lr_scheduler.StepLR(updates, 10)  # wraps step(), with a weak reference
    return step


@program
def normalised_features():
    x = torch.randn(4, 8)
    return lambda: functional.normalize(torch.tanh(x) * 2 + 1, dim=1) * 3


@program
def numbers_before_operators():
    x = torch.rand(4, 8)
    return lambda: (1.0 / (x + 1) - 2**x) * (3 - x) / (True + x)


@program
def numbers_keep_their_rank_in_promotion():
    x = torch.ones(4, dtype=torch.int16)
    return lambda: (1 / (x + 1)).sum() * 2.5 + (7 - x) * (2**x) - 1


@program
def memory_that_is_filled():
    x = torch.randn(4, 8)

    def fill():
        made = torch.empty(4, 8)
        made.copy_(x).mul_(2)
        other = torch.empty_like(x).fill_(0.5)
        third = x.new_empty(2, 8)
        third[0] = made[1]
        third[1] = other[0]
        return third + 1

    return fill


@program
def adaptive_pooling():
    pool, x = torch.nn.AdaptiveAvgPool2d(1), torch.randn(2, 3, 4, 4)
    return lambda: pool(torch.relu(x) * 2 + 1) * 3 - 1


@program
def imports_in_functions():
    x = torch.randn(4, 8)

    def late():
        from pellucid.nn import functional as later

        return later.gelu(x) * 2 + later.relu(x) - 1 + x

    return late


@pytest.mark.parametrize("name", PROGRAMS)
def test_an_everyday_program_is_replayed(name):
    results = {}
    for compiles in (False, True):
        torch.manual_seed(0)
        function = PROGRAMS[name]()
        if compiles:
            function = torch.compile(function, options={"replay": "always"})
        results[compiles] = [function() for _ in range(CALLS)] + [torch.rand(3)]
    for a, b in zip(results[False], results[True], strict=True):
        assert torch.equal(a, b) and a.dtype == b.dtype and a.stride() == b.stride()
    compilation = function._pellucid_compilation
    assert compilation.replays, compilation.replayer.reason
    assert compilation.replays[0].facts()[3] > 3


class Shape(abc.ABC):
    @property
    @abc.abstractmethod
    def side(self): ...


class Square:
    side = 2.0


def test_registering_with_an_abstract_class_is_noticed():
    x, square = torch.randn(3), Square()

    def area():
        factor = square.side if isinstance(square, Shape) else 1.0
        return (torch.tanh(x) * factor + 1 - x) * 2 - 1 + x

    compiled = torch.compile(area, options={"replay": "always"})
    for _ in range(8):
        assert torch.equal(compiled(), area())
    (replay,) = compiled._pellucid_compilation.replays
    runs = replay.facts()[3]
    assert runs > 0
    Shape.register(Square)
    assert torch.equal(compiled(), area())
    assert replay.facts()[3] == runs


class Scale:
    scale = 2.0


def test_what_a_weak_reference_refers_to_is_read():
    settings = Scale()
    reference, x = weakref.ref(settings), torch.randn(3)

    def scaled():
        scale = reference().scale if settings else 1.0
        return (torch.tanh(x) * scale + 1 - x) * 2 - 1 + x

    compiled = torch.compile(scaled, options={"replay": "always"})
    for _ in range(8):
        assert torch.equal(compiled(), scaled())
    assert compiled._pellucid_compilation.replays
    settings.scale = 3.0
    assert torch.equal(compiled(), scaled())


def test_a_weak_reference_stays_weak():
    settings = [Scale()]
    reference, x = weakref.ref(settings[0]), torch.randn(3)

    def scaled():
        scale = 1.0 if reference() is None else reference().scale
        return (torch.tanh(x) * scale + 1 - x) * 2 - 1 + x

    compiled = torch.compile(scaled, options={"replay": "always"})
    for _ in range(8):
        assert torch.equal(compiled(), scaled())
    assert "weak reference" in compiled._pellucid_compilation.replayer.reason
    settings.clear()
    assert reference() is None
    assert torch.equal(compiled(), scaled())
