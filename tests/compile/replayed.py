"""Random functions of tensors, and changes between their calls.

A world is tensors, numbers, lists and functions that a generated function reads: by
closure, global, attribute, item and call. Between calls the world changes in ways that
only Python sees. ``observed`` returns everything observable of a world, as plain data.
"""

import random
import sys
import types

import pellucid as torch
from pellucid._functorch import config

SIZE = 6
UNARY = ("tanh", "sigmoid", "relu", "sin", "exp", "abs")
BINARY = ("+", "-", "*")


class Layer(torch.nn.Module):
    """A user's module."""

    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(SIZE, SIZE)
        self.scale = 0.5
        self.register_buffer("seen", torch.zeros(SIZE))

    def forward(self, x):
        if self.training:
            self.seen.add_(x.detach().mean(0))
        return torch.tanh(self.inner(x)) * self.scale


class World:
    """What a function reads; the same for the same seed."""

    def __init__(self, seed):
        torch.manual_seed(seed)
        self.weights = [
            (torch.randn(SIZE, SIZE) * 0.3).requires_grad_() for _ in range(3)
        ]
        self.buffer = torch.randn(SIZE, SIZE)
        self.numbers = {"a": 0.5, "b": 2, "c": -1.0}
        self.flag = True
        self.repeats = 2
        self.layer = Layer()
        self.calls = 0
        self.optimizer = torch.optim.SGD(
            [*self.weights, *self.layer.parameters()], lr=0.01, momentum=seed % 2 / 2
        )

    def helper(self, x, scale=0.5):
        return x * scale + self.buffer if self.flag else x - 1


def make_source(seed):
    """The source of ``make(world, offset)``, which returns the function."""
    draw = random.Random(seed)
    names = ["x"]
    lines = []

    def operand():
        return draw.choice(
            [*names, *names, "w.buffer", f"w.weights[{draw.randrange(3)}]"]
        )

    def add(expression):
        names.append(f"t{len(names)}")
        lines.append(f"{names[-1]} = {expression}")

    def statement():
        a, b, n = operand(), operand(), draw.randrange(18)
        if n < 3:
            add(f"torch.{draw.choice(UNARY)}({a})")
        elif n < 6:
            add(f"{a} {draw.choice(BINARY)} {b}")
        elif n == 6:
            add(f"{a} @ {b} * 0.3")
        elif n == 7:
            add(f"{a} * w.numbers[{draw.choice('abc')!r}] + offset")
        elif n == 8:
            add(f"w.helper({a})")
        elif n == 9:
            add(f"w.layer({a})")
        elif n == 10:
            add(f"{a}.t().contiguous().t() if w.flag else {a}[:, :1] + {b}")
        elif n == 11:
            lines.append(f"for k in range(w.repeats): x = x * 0.5 + {a}")
        elif n == 12:
            lines.append(
                f"with torch.no_grad(): w.buffer.mul_(0.9).add_({a}, alpha=0.01)"
            )
        elif n == 13:
            add(f"SCALE * {a} + sum(v for v in w.numbers.values())")
        elif n == 14:
            add(f"{a} + torch.rand(SIZE, SIZE)" if draw.random() < 0.4 else f"{a} + 1")
        elif n == 15 and draw.random() < 0.3:
            lines.append("w.calls += 1")
        elif n == 16 and draw.random() < 0.3:
            add(f"{a} * 2 if {a}.sum() > 0 else {a}")
        elif n == 17:
            add(f"torch.cat([{a}, {b}])[:SIZE]")

    for _ in range(draw.randrange(5, 14)):
        statement()
    ending = draw.randrange(5)
    if ending == 0:
        lines += [
            "with torch.no_grad():",
            f"    result = ({operand()} * 1.5, x.detach())",
        ]
    elif ending == 1:
        lines.append(f"result = [{operand()}.detach() + 1, w.buffer, 3, None]")
    elif ending == 2:
        lines += [f"loss = ({operand()} * {operand()}).mean()"]
        lines += ["w.optimizer.zero_grad()", "if loss.requires_grad:"]
        lines += ["    loss.backward()", "    w.optimizer.step()", "result = loss"]
    elif ending == 3:
        lines += [f"loss = ({operand()} * w.weights[0]).sum()", "loss.backward()"]
        lines += ["with torch.no_grad():", "    for p in w.weights:"]
        lines += ["        if p.grad is not None:", "            p -= 0.01 * p.grad"]
        if draw.random() < 0.5:
            lines.append("            p.grad = None")
        lines.append("result = {'loss': loss.detach(), 'x': x}")
    else:
        lines.append(f"result = {operand()}")
    body = "\n".join(f"        {line}" for line in lines)
    return (
        f"def make(w, offset):\n    def function(x):\n{body}\n        return result\n"
        "    def move(): nonlocal offset; offset += 1\n    return function, move\n"
    )


def make_function(source, world):
    """The function, a setter of its cell, and its globals."""
    namespace = {"torch": torch, "SIZE": SIZE, "SCALE": 1.5, "sum": sum}
    exec(compile(source, "<random>", "exec"), namespace)
    return (*namespace["make"](world, 0.25), namespace)


def argument(draw, world):
    kinds = (
        lambda: torch.randn(SIZE, SIZE),
        lambda: torch.randn(SIZE, SIZE),
        lambda: torch.randn(SIZE, SIZE),
        lambda: torch.randn(SIZE, SIZE).t(),
        lambda: torch.randn(2 * SIZE, SIZE)[::2],
        lambda: torch.randn(SIZE, SIZE, dtype=torch.float64),
        lambda: torch.randn(1, SIZE),
        lambda: world.buffer,
        lambda: world.weights[1],
        lambda: torch.randn(SIZE, SIZE).requires_grad_(),
    )
    return kinds[draw.randrange(4) if draw.random() < 0.7 else draw.randrange(10)]()


def set_item(world, draw, namespace):
    world.numbers[draw.choice("abc")] = draw.choice((0.25, 3, -2.0))


def set_global(world, draw, namespace):
    namespace["SCALE"] = draw.choice((1.5, 0.5, 2))


def swap_tensor(world, draw, namespace):
    world.buffer = world.buffer * 0.5 + 0.1


def swap_weight(world, draw, namespace):
    world.weights[2] = (world.weights[2].detach() * 0.5).requires_grad_()


def set_flag(world, draw, namespace):
    world.flag = draw.random() < 0.5


def set_repeats(world, draw, namespace):
    world.repeats = draw.randrange(4)


def set_training(world, draw, namespace):
    world.layer.train(draw.random() < 0.5)


def set_scale(world, draw, namespace):
    world.layer.scale = draw.random()


def set_rate(world, draw, namespace):
    world.optimizer.param_groups[0]["lr"] = draw.choice((0.01, 0.02))


def freeze(world, draw, namespace):
    world.weights[1].requires_grad_(draw.random() < 0.5)


def set_data(world, draw, namespace):
    world.weights[0].data = world.weights[0].detach() * 0.9


def write(world, draw, namespace):
    with torch.no_grad():
        world.weights[0].mul_(0.9)
        world.buffer[0, 0] = 0.5


def write_by_numpy(world, draw, namespace):
    world.buffer.numpy()[0] = 0.25


def keep_gradient(world, draw, namespace):
    world.weights[0].grad = torch.ones(SIZE, SIZE)


def drop_gradient(world, draw, namespace):
    for weight in world.weights:
        weight.grad = None


def hook_tensor(world, draw, namespace):
    if world.weights[0].requires_grad:
        world.weights[0].register_hook(lambda grad: grad * 2)


def hook_module(world, draw, namespace):
    world.layer.register_forward_hook(lambda module, args, out: out + 0.5)


def patch_method(world, draw, namespace):
    world.helper = types.MethodType(lambda self, x: x * 0.25, world)


def patch_forward(world, draw, namespace):
    world.layer.forward = lambda x: x * 0.75


def patch_code(world, draw, namespace):
    number = draw.random()
    namespace["torch"] = types.SimpleNamespace(
        **{n: getattr(torch, n) for n in ("no_grad", "rand", "cat", *UNARY[1:])},
        tanh=lambda x: torch.sin(x) + number,
    )


def give_attribute(world, draw, namespace):
    world.weights[0].mark = draw.random()


def replace_attributes(world, draw, namespace):
    world.__dict__ = {**world.__dict__, "flag": draw.random() < 0.5}


def share_gradient(world, draw, namespace):
    gradient = torch.ones(SIZE, SIZE) * draw.random()
    world.weights[0].grad = world.weights[2].grad = gradient
    world.buffer = draw.choice((gradient, world.buffer))


def change_class(world, draw, namespace):
    class Other(Layer):
        def forward(self, x):
            return super().forward(x) * 0.5

    world.layer.__class__ = draw.choice((Layer, Other))


def change_default(world, draw, namespace):
    World.helper.__defaults__ = (draw.choice((0.5, 0.25)),)


CHANGES = (
    *(set_item, set_global, swap_tensor, swap_weight, set_flag, set_repeats),
    *(set_training, set_scale, set_rate, freeze, set_data, write, write_by_numpy),
    *(keep_gradient, drop_gradient, hook_tensor, hook_module, patch_method),
    *(patch_forward, patch_code, give_attribute, replace_attributes),
    *(share_gradient, change_class, change_default),
)


def bits(value):
    """As plain data."""
    if isinstance(value, torch.Tensor):
        plain = value.detach().contiguous().reshape(-1)
        node = value.grad_fn.name() if value.grad_fn else None
        contents = plain.view(torch.uint8).numpy().tobytes()
        version = value._version
        return (str(value.dtype), value.shape, value.stride(), node, version, contents)
    if isinstance(value, (tuple, list)):
        return [type(value).__name__, *map(bits, value)]
    if isinstance(value, dict):
        return {k: bits(v) for k, v in value.items()}
    return value


def observed(world, result, x):
    tensors = [*world.weights, world.buffer, world.layer.seen, x]
    grads = [bits(t.grad) for t in world.weights]
    places = [result is t for t in tensors]
    versions = [t._version for t in tensors]
    streams = torch.rand(2).tolist()
    return [bits(result), bits(tensors), grads, places, versions, world.calls, streams]


def call(function, x):
    try:
        return function(x)
    except (RuntimeError, TypeError, AttributeError) as error:
        return f"{type(error).__name__}: {error}"


def history(seed, compiles, calls=30):
    """What is observed after each call of a random function; the number of replays."""
    draw = random.Random(seed)
    World.helper.__defaults__ = (0.5,)
    world = World(seed)
    function, move, namespace = make_function(make_source(seed), world)
    if compiles:
        function = torch.compile(function, options={"replay": "always"})
    seen = []
    change = 9  # calls before the first change; the third replay joins its ops
    replays = {}
    for number in range(calls):
        torch.manual_seed(seed + number)
        x = argument(draw, world) if number > 8 else torch.randn(SIZE, SIZE)
        result = call(function, x)
        seen.append(observed(world, result, x))
        if compiles:
            for replay in function._pellucid_compilation.replays or ():
                replays[replay] = replay.facts()[3]
        if number >= change:
            draw.choice((*CHANGES, lambda *_: move()))(world, draw, namespace)
            change += draw.choice((1, 5, 9))
    return seen, sum(replays.values())


def main():
    """Compares programs: python -m tests.compile.replayed FIRST COUNT [SIZE].

    Of a size from 128 on, results are large enough to be computed twice.
    """
    global SIZE
    first, count, *size = map(int, sys.argv[1:])
    if size:
        (SIZE,) = size
        config.activation_memory_budget = 0.0
    replayed = 0
    for seed in range(first, first + count):
        expected, _ = history(seed, compiles=False)
        actual, runs = history(seed, compiles=True)
        replayed += runs
        wrong = [k for k in range(len(actual)) if actual[k] != expected[k]]
        if wrong:
            print(f"program {seed} differs in the calls {wrong}")
    print(f"{count} programs from {first} on: {replayed} calls were replayed")


if __name__ == "__main__":
    main()
