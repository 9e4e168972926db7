"""Random programs of the kinds of objects that users write, and changes between calls.

``replayed.py`` makes functions of tensors; these programs have modules with hooks and
buffers, optimizers, dataclasses, properties, class attributes, keyword arguments,
closures, NumPy writes, views that outlive calls, exceptions and prints. A program is a
function, a method, a module or a decorated method. ``observed`` describes everything
that is reachable from a program, with identities, as plain data.

More of them: ``python -m tests.compile.everyday FIRST COUNT``.
"""

import contextlib
import dataclasses
import functools
import gc
import io
import random
import sys
import types
import typing

import pellucid as torch
from pellucid import nn
from tests.compile.replayed import bits

SIZE = 6
functional = nn.functional


@dataclasses.dataclass
class Config:
    """Settings of a program; some change between its calls."""

    scale: float = 0.5
    depth: int = 2
    name: str = "tanh"
    mask: object = None
    history: list = dataclasses.field(default_factory=list)

    @property
    def doubled(self):
        return self.scale * 2

    def pick(self, x, *, gain=1.5, shift=0.0):
        return x * gain + shift


class Base:
    gain = 1.25
    table: typing.ClassVar = {"low": 0.5, "high": 2.0}

    def lift(self, x):
        return x + self.gain

    @staticmethod
    def halve(x):
        return x / 2

    @classmethod
    def scaled(cls, x):
        return x * cls.gain


class Special(Base):
    def lift(self, x):
        return super().lift(x) * self.table["low"]


@dataclasses.dataclass
class Found:
    """What some programs return."""

    value: object
    rate: float = 0.5
    parts: list = dataclasses.field(default_factory=list)


class Pair(typing.NamedTuple):
    first: object
    second: object = 2


class Slots:
    __slots__ = ("rate", "unset")


@contextlib.contextmanager
def scaled(world, by):
    yield by * world.slots.rate


class Block(nn.Module):
    """A user's module with a buffer, a counter in one, and a child by name."""

    kind = "block"

    def __init__(self, dropout):
        super().__init__()
        self.inner = nn.Linear(SIZE, SIZE)
        self.norm = nn.LayerNorm(SIZE)
        self.drop = nn.Dropout(dropout)
        self.register_buffer("seen", torch.zeros(SIZE))
        self.register_buffer("steps", torch.zeros((), dtype=torch.int64))
        self.activation = torch.tanh
        self.extras = nn.ModuleDict({"gate": nn.Linear(SIZE, SIZE, bias=False)})

    def forward(self, x, residual=True, *, scale=1.0):
        y = self.drop(self.activation(self.inner(self.norm(x))))
        if self.training:
            with torch.no_grad():
                self.seen.mul_(0.9).add_(x.mean(0), alpha=0.1)
                self.steps += 1
        if self.kind == "gated" and "gate" in self.extras:
            y = y * torch.sigmoid(self.extras["gate"](x))
        return x + y * scale if residual else y * scale


class World:
    """What a program reads; the same for the same seed."""

    def __init__(self, seed):
        torch.manual_seed(seed)
        draw = random.Random(seed)
        self.config = Config()
        self.base = draw.choice((Base, Special))()
        self.blocks = nn.ModuleList([Block(draw.choice((0.0, 0.3))) for _ in range(2)])
        self.weight = nn.Parameter(torch.randn(SIZE, SIZE) * 0.3)
        self.buffer = torch.randn(SIZE, SIZE)
        self.view = self.buffer[1]
        self.state = {"hidden": torch.zeros(SIZE, SIZE), "rate": 0.1, "names": ["a"]}
        self.items = [torch.ones(SIZE), 2.0, torch.randn(SIZE)]
        self.flag = True
        self.calls = 0
        self.offset = 0.25
        self.slots = Slots()
        self.slots.rate = 0.75
        parameters = [*self.blocks.parameters(), self.weight]
        made = draw.choice((torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW))
        self.optimizer = made(parameters, lr=0.01)
        gamma = draw.choice((1.0, 0.5))
        self.schedule = torch.optim.lr_scheduler.StepLR(self.optimizer, 4, gamma)

    @property
    def factor(self):
        return 0.5 if self.flag else 1.5

    def helper(self, x, scale=0.5, *rest, **named):
        return x * scale + sum(rest) + named.get("shift", 0)


# Expressions of a tensor; `{a}` and `{b}` are tensors of SIZE x SIZE.
EXPRESSIONS = (
    *("torch.tanh({a})", "{a} + {b}", "{a} * {b}", "{a} - 0.5", "torch.relu({a})"),
    *("({a} @ {b}) * 0.3", "w.blocks[0]({a})", "w.blocks[1]({a}, scale=0.5)"),
    *("w.blocks[0]({a}, residual=False)", "w.config.pick({a}, gain=w.config.scale)"),
    *("w.config.pick({a}, shift=offset)", "{a} * w.config.doubled", "w.base.lift({a})"),
    *("w.base.halve({a})", "w.base.scaled({a})", "{a} * w.factor", "w.helper({a})"),
    *("w.helper({a}, 0.25, 1, 2)", "w.helper({a}, shift=w.offset)", "{a} + w.view"),
    *("w.state['hidden'] * 0.5 + {a}", "{a} * w.state['rate']", "{a} * w.items[1]"),
    *("{a} + w.items[0]", "sum((t for t in w.items[::2]), {a})", "{a}.t() + {b}"),
    *("{a} + (1 if isinstance(w.base, Special) else 2)", "{a} * len(w.config.history)"),
    *("{a} + max(w.state.get('rate', 0), 0.05)", "functional.gelu({a}) + {b}"),
    *("getattr_of(w, {a})", "adder({a})", "reduce_all([{a}, {b}, w.buffer])"),
    *("{a} + [*w.blocks.named_parameters()][0][1]", "pair({a}, {b})[0]"),
    *("torch.stack([{a}, {b}]).mean(0)", "torch.cat([{a}, {b}], 1)[:, ::2]"),
    *("torch.where({a} > 0, {a}, {b})", "{a}.clone().clamp_(-1, 1)", "{a} ** 2"),
    *("({a} if w.config.mask is None else {a} * w.config.mask)", "memo(w)({a})"),
    *("{a}.reshape(-1).view(SIZE, SIZE) * 0.9", "functional.softmax({a}, -1)"),
    *("torch.where({a}.isnan(), torch.zeros(()), {a})", "{a}.expand(SIZE, SIZE) + 1"),
    *("torch.zeros_like({a}) + {b}", "torch.full((SIZE,), w.offset) + {a}"),
    *(
        "functional.dropout({a}, 0.2, w.flag)",
        "{a} + torch.arange(SIZE)",
        "{a}[0] + {b}",
    ),
    *("{a} + torch.tensor([w.offset] * SIZE)", "{a} * w.slots.rate"),
    *("{a} * getattr(w.config, 'scale') + getattr(w, 'absent', 1)",),
    *("(lambda t, s=w.offset: t * s)({a})", "{a}.sum(0, keepdim=True) + {b}"),
)
# Statements; rare ones are not replayed, or only in some states.
STATEMENTS = (
    "for block in w.blocks: x = block(x)",
    "for k in range(w.config.depth): x = x * 0.5 + {a}",
    "with torch.no_grad(): w.buffer.mul_(0.9).add_({a}, alpha=0.01)",
    "with torch.no_grad(): w.view.add_(0.1)",
    "with torch.no_grad(): w.state['hidden'].copy_({a})",
    "if w.flag: x = x + 1\n    else: x = x - 1",
    "local = {{'k': {a}, 'n': [{b}]}}\n    x = local['k'] + local['n'][0]",
    "a, *rest = [{a}, {b}, x]\n    x = a + rest[-1]",
    "x = x.detach().requires_grad_(False)",
    "with torch.no_grad():\n        for p in w.blocks.parameters(): p.mul_(0.999)",
    "with scaled(w, 0.5) as by: x = x * by",
    "with torch.autocast('cpu'): x = (x @ {a}).float()",
)
RARE = (
    "w.calls += 1",
    "x = getattr(torch, w.config.name)({a})",
    "w.state['hidden'] = {a}.detach()",
    "w.config.history.append(1)",
    "print('in the call')",
    "w.items[1] = w.items[1]",
    "x = x if x.sum() > 0 else -x",
    "w.buffer.numpy()[0] = 0.5",
    "try: torch.ones(2) + torch.ones(3)\n    except RuntimeError: x = x + 1",
    "try: x = x + 1\n    finally: x = x * 0.5",
    "if w.calls > 3: raise ValueError('too many')",
    "w.schedule.step()",
    "with torch.autocast('cpu', dtype=torch.bfloat16): x = (x @ {a}).float()",
    "w.kept = {a}",
    "offset_by(1)",
    "with torch.enable_grad(): x = x + w.weight",
    "w.view = w.buffer[2]",
    "del w.state['rate']; w.state['rate'] = 0.1",
)
RESULTS = (
    "x",
    "(x, w.buffer)",
    "[x, w.items]",
    "w.items",
    "w.state",
    "(w.config, x)",
    "{'x': x, 'same': x, 'n': w.offset}",
    "[given, x, None, 'text']",
    "x[0]",
    "(x, x.t())",
    "x.sum()",
    "(x * 2).detach()",
    "w.view",
    "{'loss': x.mean(), 'rates': [g['lr'] for g in w.optimizer.param_groups]}",
    "(w.flag, w.calls, x)",
    "([x], [x])",
    "((x + 1,), w.blocks)",
    "Found(x, w.offset, [x[1:]])",
    "Pair(x[:, 1:], (x, x.shape))",
)
PRELUDE = """
def make(w, offset):
    def adder(t, by=0.125): return t + by + offset
    def getattr_of(thing, t): return t * thing.config.scale
    def offset_by(n):
        nonlocal offset
        offset += n
    def pair(p, q=None, **more): return (p, q, more)
    def reduce_all(many):
        total = many[0]
        for one in many[1:]: total = total + one
        return total
    def memo(thing):
        def inner(t): return t + thing.offset
        return inner
"""


def make_source(seed):
    """The source of ``make(world, offset)``: a function and what rebinds its cell."""
    draw = random.Random(seed)
    names = ["x", "x", "w.weight", "w.buffer"]
    lines = ["given = x"]

    def filled(text):
        return text.format(a=draw.choice(names), b=draw.choice(names))

    count = draw.randrange(4, 10)
    rare = draw.randrange(4 * count)
    for number in range(count):
        if number == rare:
            lines.append(filled(draw.choice(RARE)))
        elif draw.random() < 0.7:
            lines.append(f"t{number} = {filled(draw.choice(EXPRESSIONS))}")
            names += [f"t{number}"] * 2
        else:
            lines.append(filled(draw.choice(STATEMENTS)))
    lines.append(f"x = {draw.choice(names)} + {draw.choice(names)}")
    ending = draw.randrange(4)
    if ending == 0:
        lines += ["loss = x.square().mean()", "w.optimizer.zero_grad()"]
        lines += ["loss.backward()"]
        if draw.random() < 0.4:
            lines.append("nn.utils.clip_grad_norm_([w.weight], 0.5)")
        lines += ["w.optimizer.step()", "x = loss.detach()"]
    elif ending == 1:
        lines.append("x = x.detach()")
    result = draw.choice((*RESULTS, *RESULTS[:7]))
    if "x[" in result or "x.t()" in result:
        lines.append("x = x.reshape(-1, 1)")
    body = "\n".join(f"    {line}" for line in lines)
    no_grad = draw.random() < 0.5 and ending > 1
    if no_grad:
        body = "    with torch.no_grad():\n" + "\n".join(
            f"    {line}" for line in body.split("\n")
        )
    function = f"def function(x, extra=None):\n{body}\n    return {result}\n"
    indented = "\n".join(f"    {line}" for line in function.split("\n"))
    return f"{PRELUDE}{indented}\n    return function, offset_by\n"


def as_function(function, world, compiles):
    return compiles(function)


def as_method(function, world, compiles):
    class Program:
        def __init__(self):
            self.world = world

        def run(self, x, extra=None):
            return function(x, extra)

    return compiles(Program().run)


def as_decorated_method(function, world, compiles):
    class Program:
        @compiles
        def run(self, x, extra=None):
            return function(x, extra)

    return Program().run


def as_module(function, world, compiles):
    class Program(nn.Module):
        def __init__(self):
            super().__init__()
            self.blocks = world.blocks
            self.world = world

        def forward(self, x, extra=None):
            return function(x, extra)

    world.program = Program()
    return compiles(world.program)


SHAPES = (as_function, as_function, as_method, as_decorated_method, as_module)


# Changes between calls: what only Python sees, and what the runtime sees.
def train(w, draw, space):
    w.blocks.train(draw.random() < 0.5)


def set_config(w, draw, space):
    setattr(w.config, *draw.choice((("scale", 0.25), ("depth", 3), ("name", "sin"))))


def replace_config(w, draw, space):
    w.config = dataclasses.replace(w.config, scale=draw.random())


def set_mask(w, draw, space):
    w.config.mask = draw.choice((None, torch.ones(SIZE), 2.0))


def set_class_attribute(w, draw, space):
    Base.gain = draw.choice((1.25, 0.5))


def set_slots(w, draw, space):
    w.slots.rate = draw.choice((0.75, 0.5))


def set_factory(w, draw, space):
    Found.__init__.__defaults__ = (draw.random(), *Found.__init__.__defaults__[1:])


def set_table(w, draw, space):
    Base.table["low"] = draw.random()


def change_kind(w, draw, space):
    w.blocks[0].kind = draw.choice(("block", "gated"))


def hook_forward(w, draw, space):
    kind = draw.choice(("register_forward_hook", "register_forward_pre_hook"))
    amount = draw.random()
    if kind == "register_forward_hook":
        handle = w.blocks[0].register_forward_hook(lambda m, a, out: out + amount)
    else:
        handle = w.blocks[1].register_forward_pre_hook(lambda m, a: (a[0] * amount,))
    if draw.random() < 0.5:
        handle.remove()


def hook_backward(w, draw, space):
    draw.choice(
        (
            lambda: w.blocks[0].register_full_backward_hook(lambda m, i, o: None),
            lambda: w.weight.register_hook(lambda g: g * 0.5),
            lambda: w.weight.register_post_accumulate_grad_hook(
                lambda p: p.grad.mul_(0.5)
            ),
        )
    )()


def hook_everything(w, draw, space):
    # A compiled module is a module, too, as in PyTorch: hooks would run once more.
    handle = nn.modules.module.register_module_forward_hook(
        lambda m, a, out: out * 0.5 if isinstance(m, (Block, nn.Linear)) else out
    )
    w.undo.append(handle.remove)


def hook_optimizer(w, draw, space):
    w.optimizer.register_step_pre_hook(lambda o, a, k: setattr(w, "calls", w.calls + 1))


def load_state(w, draw, space):
    state = {k: v.clone() * 0.9 for k, v in w.blocks.state_dict().items()}
    w.blocks.load_state_dict(state, assign=draw.random() < 0.3)


def load_optimizer(w, draw, space):
    w.optimizer.load_state_dict(w.optimizer.state_dict())


def replace_layer(w, draw, space):
    w.blocks[1].inner = nn.Linear(SIZE, SIZE)


def replace_activation(w, draw, space):
    w.blocks[0].activation = draw.choice((nn.Tanh(), nn.ReLU()))


def share_weight(w, draw, space):
    w.blocks[1].inner.weight = w.weight


def freeze(w, draw, space):
    w.blocks[0].requires_grad_(draw.random() < 0.5)


def set_rate(w, draw, space):
    w.optimizer.param_groups[0]["lr"] = draw.choice((0.01, 0.02, 0.005))


def step_schedule(w, draw, space):
    w.schedule.step()


def write_by_numpy(w, draw, space):
    w.buffer.numpy()[1] += 0.5


def write_parameter(w, draw, space):
    with torch.no_grad():
        w.weight.mul_(0.9)
        w.blocks[0].inner.weight[0, 0] = 0.25


def set_data(w, draw, space):
    w.weight.data = w.weight.detach() * 0.5


def swap_buffer(w, draw, space):
    w.buffer = torch.randn(SIZE, SIZE)
    w.view = draw.choice((w.view, w.buffer[0], w.buffer.t()[1]))


def reset_buffer(w, draw, space):
    w.blocks[0].register_buffer("seen", torch.zeros(SIZE))


def double_items(w, draw, space):
    w.items[draw.choice((0, 2))] = torch.ones(SIZE) * draw.random()


def add_state(w, draw, space):
    w.state["rate"] = draw.choice((0.1, 0.2))
    w.state[f"more{draw.randrange(3)}"] = 1


def patch_function(w, draw, space):
    other = torch.relu if draw.random() < 0.5 else functional.gelu
    space["functional"] = types.SimpleNamespace(
        gelu=other, softmax=torch.softmax, dropout=functional.dropout
    )


def patch_method(w, draw, space):
    World.helper.__defaults__ = (draw.choice((0.5, 0.75)),)
    w.config.pick = functools.partial(Config.pick, w.config, gain=0.5)


def set_offset(w, draw, space):
    w.offset = draw.choice((0.25, 1, 2.0))
    w.flag = not w.flag


def rebind_cell(w, draw, space):
    w.rebind(draw.random())


def drop_gradients(w, draw, space):
    w.optimizer.zero_grad(set_to_none=draw.random() < 0.5)


def collect(w, draw, space):
    gc.collect()


CHANGES = (
    *(train, set_config, replace_config, set_mask, set_class_attribute, set_table),
    *(change_kind, hook_forward, hook_backward, hook_everything, hook_optimizer),
    *(load_state, load_optimizer, replace_layer, replace_activation, share_weight),
    *(freeze, set_rate, step_schedule, write_by_numpy, write_parameter, set_data),
    *(swap_buffer, reset_buffer, double_items, add_state, patch_function),
    *(patch_method, set_offset, rebind_cell, drop_gradients, collect),
    *(set_slots, set_factory),
)


# What a caller does with a result, so that wrong sharing shows in later calls.
def use(result, draw):
    if isinstance(result, torch.Tensor):
        if draw.random() < 0.3 and not result.requires_grad:
            result.add_(0.01)
    elif isinstance(result, list) and draw.random() < 0.2:
        result.append(1)
    elif isinstance(result, dict) and draw.random() < 0.2:
        result["more"] = 1
    elif isinstance(result, tuple):
        for part in result:
            use(part, draw)


def arguments(draw, world):
    """Positional and keyword arguments of a call."""
    x = draw.choice(
        (
            lambda: torch.randn(SIZE, SIZE),
            lambda: torch.randn(SIZE, SIZE),
            lambda: torch.randn(SIZE, SIZE),
            lambda: torch.randn(2 * SIZE, SIZE)[::2],
            lambda: torch.randn(SIZE, SIZE, dtype=torch.float64),
            lambda: world.buffer,
            lambda: torch.randn(SIZE, SIZE).requires_grad_(),
        )
    )()
    form = draw.randrange(8)
    if form == 0:
        return (), {"x": x}
    if form == 1:
        return (x, draw.choice((1, "a", 2.5))), {}
    if form == 2:
        return (x,), {"extra": draw.choice((1, None))}
    return (x,), {}


def described(value, known):
    """As plain data; objects that occur again by the number of their first place."""
    if isinstance(value, (int, float, str, type(None), torch.dtype, torch.Size)):
        return value
    if id(value) in known:
        return f"object {known[id(value)][0]}"
    known[id(value)] = (len(known), value)
    if isinstance(value, torch.Tensor):
        storage = "storage", value.untyped_storage().data_ptr()
        place = known.setdefault(storage, (len(known), None))[0]
        grad = described(value.grad, known) if value.is_leaf else None
        base = described(value._base, known)
        facts = (value.requires_grad, value.storage_offset(), value._version)
        return (bits(value), place, *facts, grad, base)
    if isinstance(value, (list, tuple)):
        return [type(value).__name__, *(described(v, known) for v in value)]
    if isinstance(value, dict):
        # Hooks are numbered by a counter of the process.
        named = [(k if isinstance(k, str) else "", v) for k, v in value.items()]
        items = [(k, described(v, known)) for k, v in named if k != "undo"]
        return [type(value).__name__, *items]
    if isinstance(value, torch.optim.Optimizer):
        tensors = [p for group in value.param_groups for p in group["params"]]
        states = [described(value.state.get(p), known) for p in tensors]
        rates = [group["lr"] for group in value.param_groups]
        return ["optimizer", states, rates]
    if isinstance(value, Slots):
        return ["slots", value.rate]
    if isinstance(value, (nn.Module, World, Config, Base, Found)):
        return [type(value).__name__, described(vars(value), known)]
    return type(value).__name__


def observed(world, kept):
    known = {}
    return [described(world, known), described(kept, known), torch.rand(2).tolist()]


def call(function, args, named):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        try:
            result = function(*args, **named)
        except (RuntimeError, TypeError, AttributeError, ValueError, KeyError) as error:
            result = f"{type(error).__name__}: {error}"
    return result, printed.getvalue()


def history(seed, compiles, calls=26):
    """What is observed after each call of a random program; the number of replays."""
    draw = random.Random(seed)
    Base.gain, Base.table = 1.25, {"low": 0.5, "high": 2.0}
    World.helper.__defaults__ = (0.5,)
    Found.__init__.__defaults__ = (0.5, *Found.__init__.__defaults__[1:])
    world = World(seed)
    space = {"torch": torch, "nn": nn, "SIZE": SIZE, "functional": functional}
    space |= {"Special": Special, "Found": Found, "Pair": Pair, "scaled": scaled}
    exec(compile(make_source(seed), "<random>", "exec"), space)
    function, world.rebind = space["make"](world, 0.25)
    compiled = []

    def prepare(function):
        if not compiles:
            return function
        compiled.append(torch.compile(function, options={"replay": "always"}))
        return compiled[0]

    function = draw.choice(SHAPES)(function, world, prepare)
    world.undo = []
    seen, kept, replays = [], [], {}
    change = 8  # calls before the first change
    try:
        for number in range(calls):
            torch.manual_seed(seed + number)
            args, named = (torch.randn(SIZE, SIZE),), {}
            if number > 8:
                args, named = arguments(draw, world)
            result, printed = call(function, args, named)
            kept = [*kept[-2:], result]
            seen.append((observed(world, kept), printed))
            use(result, draw)
            for made in compiled:
                for replay in made._pellucid_compilation.replays or ():
                    replays[replay] = replay.facts()[3]
            if number >= change:
                draw.choice(CHANGES)(world, draw, space)
                change += draw.choice((1, 4, 6))
    finally:
        for undo in world.undo:
            undo()
    return seen, sum(replays.values())


def differences(seed):
    """The calls of a program that differ from eager, and the number of replays."""
    expected, _ = history(seed, compiles=False)
    actual, runs = history(seed, compiles=True)
    return [k for k in range(len(actual)) if actual[k] != expected[k]], runs


def main():
    first, count = map(int, sys.argv[1:])
    replayed = programs = 0
    for seed in range(first, first + count):
        wrong, runs = differences(seed)
        replayed += runs
        programs += runs > 0
        if wrong:
            print(f"program {seed} differs in the calls {wrong}", flush=True)
    print(
        f"{count} programs from {first} on: {replayed} calls of {programs} programs "
        "were replayed"
    )


if __name__ == "__main__":
    main()
