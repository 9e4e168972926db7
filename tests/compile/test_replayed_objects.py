"""Replays of calls that return views and objects, and that use contexts and modes.

Each case is a script. It runs once as written and once with its function compiled, and
returns what it observed: both must be equal. ``REFUSED`` names the cases without
replays.
"""

import collections
import contextlib
import dataclasses
import enum
import types
import typing

import numpy as np
import pytest

import pellucid as torch

pytestmark = pytest.mark.usefixtures("untraced")
CASES = {}
REFUSED = set()


def case(make):
    CASES[make.__name__] = make
    return make


def refused(make):
    REFUSED.add(make.__name__)
    return case(make)


def some_ops(x):
    for _ in range(4):
        x = torch.tanh(x) * 0.5
    return x


def vector(number):
    return torch.arange(3.0) * 0.25 + 0.1 * number


def described(found):
    if isinstance(found, torch.Tensor):
        name = found.grad_fn and found.grad_fn.name()
        layout = (found.shape, found.stride(), found.storage_offset(), found._version)
        is_base = found._base is None
        return found.tolist(), found.dtype, *layout, found.requires_grad, name, is_base
    if isinstance(found, tuple | list):
        return type(found), [described(part) for part in found]
    return repr(found)


def calls(function, change=lambda: None, give=vector):
    """What 16 calls return; ``change`` is called before the tenth."""
    seen = []
    for number in range(16):
        if number == 9:
            change()
        seen.append(described(function(give(number))))
    return seen


@case
def views(compiled):
    @compiled
    def function(x):
        y = some_ops(x)
        return y[1:], y, y.split(1)

    seen = []
    for number in range(16):
        view, whole, parts = function(vector(number))
        view.add_(1)
        weight = torch.ones(1, requires_grad=True)
        view.mul_(weight)
        whole.sum().backward()
        seen += [described([view, whole, weight.grad]), view._base is whole]
        with contextlib.suppress(RuntimeError):
            parts[0].mul_(weight)
            seen.append("written")
    return seen


@case
def views_of_what_exists(compiled):
    held = torch.zeros(4, 3)
    rows = held[1:]

    @compiled
    def function(x):
        rows.add_(some_ops(x))
        return rows[1], held[0], x[1:]

    seen = []
    batch = torch.arange(24.0).reshape(8, 3)
    for number in range(16):
        x = batch[number % 8] if number > 9 else vector(number)
        row, first, rest = function(x)
        row.add_(1)
        seen += [described([row, first, rest]), row._base is held]
        seen.append(rest._base is (x if x._base is None else x._base))
    return [*seen, described(held)]


@case
def views_without_gradients(compiled):
    @compiled
    def function(x):
        with torch.no_grad():
            return some_ops(x)[:2]

    seen = []
    for number in range(16):
        view = function(vector(number))
        with pytest.raises(RuntimeError, match="no_grad"):
            view.mul_(torch.ones(1, requires_grad=True))
        seen.append(described([view, view._base]))
    return seen


class Pair(typing.NamedTuple):
    first: object
    second: object = 2


@case
def named_tuples(compiled):
    @compiled
    def function(x):
        y = some_ops(x)
        return Pair(y, (y.shape, y.dtype, y.device)), torch.max(y.reshape(1, 3), 1)

    seen = []
    for number in range(16):
        pair, most = function(vector(number))
        seen += [described(pair), pair.first is pair[0], described(most.indices)]
    return seen


@case
def an_object(compiled):
    @dataclasses.dataclass
    class Found:
        value: object
        scale: float = 2.0
        parts: list = dataclasses.field(default_factory=list)

    def change():
        Found.__init__.__defaults__ = (3.0, *Found.__init__.__defaults__[1:])

    @compiled
    def function(x):
        y = some_ops(x)
        return Found(y, parts=[y, 1])

    seen = []
    for number in range(16):
        if number == 9:
            change()
        found = function(vector(number))
        seen.append([type(found) is Found, found.parts[0] is found.value])
        seen.append(described([found.value, found.scale, found.parts]))
        found.parts.append(5)
        found.scale = 7
    return seen


@case
def an_object_that_exists(compiled):
    class Found:
        pass

    kept = [Found()]

    @compiled
    def function(x):
        return kept[0], Found(), some_ops(x)

    return [
        (old is kept[0], new is old) for old, new, _ in map(function, [vector(1)] * 16)
    ]


@refused
def an_object_in_itself(compiled):
    class Found:
        pass

    @compiled
    def function(x):
        found = Found()
        found.own = [found, some_ops(x)]
        return found

    return [function(vector(1)).own[0].own is not None for _ in range(16)]


@refused
def an_object_that_counts(compiled):
    ended = []

    class Found:
        def __del__(self):
            ended.append(1)

    @compiled
    def function(x):
        return Found(), some_ops(x)

    for number in range(16):
        function(vector(number))
    return ended


@case
def slots(compiled):
    class Base:
        __slots__ = ("scale",)

    class Settings(Base):
        __slots__ = ("__shift", "empty")

        def __init__(self):
            self.scale, self.__shift = 2.0, 1.0

        def apply(self, x):
            return x * self.scale + self.__shift

        def move(self):
            self.__shift = 3.0

    settings = Settings()
    return calls(
        compiled(lambda x: settings.apply(some_ops(x)) * hasattr(settings, "empty")),
        settings.move,
    ) + calls(compiled(lambda x: settings.apply(some_ops(x))), settings.move)


@case
def a_text_of_an_enum(compiled):
    class Kind(enum.StrEnum):
        SMALL = "small"
        LARGE = "large"

    state = {"kind": Kind.SMALL}
    function = compiled(lambda x: some_ops(x) * (2 if state["kind"] == "small" else 3))
    return calls(function, lambda: state.update(kind=Kind.LARGE))


@case
def a_number_of_numpy(compiled):
    state = {"scale": np.float32(2.0)}
    function = compiled(lambda x: some_ops(x) * state["scale"])
    return calls(function, lambda: state.update(scale=np.float32(3.0)))


@case
def the_class_of_a_module(compiled):
    module = types.ModuleType("settings_of_a_test")
    module.scale = 2.0

    class Other(types.ModuleType):
        scale = property(lambda self: 3.0)

    function = compiled(lambda x: some_ops(x) * module.scale)
    return calls(function, lambda: setattr(module, "__class__", Other))


@case
def the_factory_of_a_dict(compiled):
    table = collections.defaultdict(lambda: 2.0)
    function = compiled(lambda x: some_ops(x) * table.default_factory())
    return calls(function, lambda: setattr(table, "default_factory", lambda: 3.0))


@refused
def the_place_of_an_argument(compiled):
    def function(x):
        return some_ops(x) * (2.0 if x.storage_offset() == 0 else 3.0)

    buffer = torch.arange(10.0)
    return calls(
        compiled(function), give=lambda n: buffer[:3] if n < 9 else buffer[4:7]
    )


@refused
def elements_by_their_place(compiled):
    def function(x):
        return some_ops(x.as_strided((2,), (1,), 1))

    buffer = torch.arange(10.0)
    return calls(
        compiled(function), give=lambda n: buffer[:3] if n < 9 else buffer[4:7]
    )


@case
def a_list_as_a_tensor(compiled):
    data = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]

    def function(x):
        return some_ops(x) + torch.tensor(data) + torch.as_tensor([True, False, True])

    return calls(compiled(function), lambda: data[1].__setitem__(1, 9.0))


@refused
def a_tensor_in_a_list_as_a_tensor(compiled):
    number = torch.tensor(1.5)
    function = compiled(lambda x: some_ops(x) + torch.tensor([number, 1.0, 2.0]))
    return calls(function, lambda: number.fill_(9.0))


@case
def an_attribute_by_a_constant_name(compiled):
    settings = types.new_class("Settings")()
    settings.scale = 2.0

    def function(x):
        shift = getattr(settings, "shift", 1.0)
        return some_ops(x) * getattr(settings, "scale") + shift  # noqa: B009

    return calls(compiled(function), lambda: setattr(settings, "shift", 3.0))


@refused
def a_version_by_a_constant_name(compiled):
    held = torch.zeros(3)
    function = compiled(lambda x: some_ops(x) * getattr(held, "_version", 0))
    return calls(function, lambda: held.add_(1))


@case
def a_context_of_a_generator(compiled):
    scale = [2.0]

    @contextlib.contextmanager
    def scaled(by):
        yield by * scale[0]

    def function(x):
        with scaled(3.0) as by, contextlib.nullcontext():
            return some_ops(x) * by

    return calls(compiled(function), lambda: scale.__setitem__(0, 3.0))


@case
def autocast(compiled):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(4, 2))
    updates = torch.optim.SGD(model.parameters(), lr=0.1)

    @compiled
    def step(x):
        with torch.autocast("cpu"):
            loss = model(x).float().pow(2).mean()
        updates.zero_grad()
        loss.backward()
        updates.step()
        return loss

    def change():
        torch.set_autocast_dtype("cpu", torch.float16)

    try:
        return [*calls(step, change), described([*model.parameters()])]
    finally:
        torch.set_autocast_dtype("cpu", torch.bfloat16)


@case
def autocast_around(compiled):
    weight = torch.randn(3, 3, generator=torch.Generator().manual_seed(0))
    function = compiled(lambda x: some_ops(x @ weight) @ weight)
    seen = []
    for dtype in (torch.bfloat16, torch.float16):
        for number in range(10):
            with torch.autocast("cpu", dtype=dtype):
                seen.append(described(function(vector(number))))
    return seen


@refused
def autocast_that_keeps_casts(compiled):
    torch.manual_seed(0)
    layer = torch.nn.Linear(3, 3)
    function = compiled(lambda x: some_ops(layer(x)).detach() * 1)
    seen = []
    for number in range(16):
        with torch.autocast("cpu"):
            seen.append(described(function(vector(number))))
            with torch.no_grad():
                layer.weight.mul_(1.5)
            seen.append(described(function(vector(number))))
    return seen


@case
def conjugates(compiled):
    held = torch.tensor([1 + 2j, 3j, 1 - 1j])
    pending = held.conj()

    @compiled
    def function(x, y):
        z = some_ops(x + y.conj()) * pending
        z.conj().mul_(0.5)
        pending.add_(z.real[:1])
        return z, z.conj(), x.conj(), (z.imag + pending.conj().imag)

    seen = []
    for number in range(16):
        x = torch.complex(vector(number), vector(number + 1))
        found = function(x, x.flip(0).conj() if number < 12 else x.flip(0))
        seen += [[described(each), each.is_conj()] for each in found]
        seen.append(found[2].data_ptr() == x.data_ptr())
    return [*seen, described(held)]


@pytest.mark.parametrize("name", CASES)
def test_a_script_observes_the_same(name):
    functions = []

    def compiled(function):
        functions.append(torch.compile(function, options={"replay": "always"}))
        return functions[-1]

    expected = CASES[name](lambda function: function)
    assert CASES[name](compiled) == expected
    for function in functions:
        compilation = function._pellucid_compilation
        runs = sum(replay.facts()[3] for replay in compilation.replays or ())
        assert (runs == 0) == (name in REFUSED), compilation.replayer.reason
