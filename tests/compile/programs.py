"""Random programs for compiled callables, whose effects must not depend on compilation.

A program is a list of steps over a pool of tensors: ops, views, writes in place and by
NumPy, draws, reads, exceptions, containers, gradients. ``run`` returns everything
observable of it, as plain data.
"""

import random
import threading

import pellucid as torch

ROWS, COLUMNS = 48, 64
UNARY = ("exp", "sin", "tanh", "sqrt", "abs", "neg", "sigmoid", "relu", "square")
BINARY = ("add", "sub", "mul", "div", "maximum", "atan2")
WRITES = ("add_", "mul_", "copy_", "sub_")


def make_program(seed, length=14):
    """A list of (step, numbers)."""
    random_ = random.Random(seed)
    names = [name for name, weight in STEPS.items() for _ in range(weight)]
    return [
        (random_.choice(names), [random_.random() for _ in range(6)])
        for _ in range(length)
    ]


class Run:
    """The state of one run of a program."""

    def __init__(self, pool):
        self.pool = pool
        self.seen = []
        self.kept = {}

    def pick(self, number):
        return self.pool[int(number * len(self.pool))]

    def add(self, tensor):
        if len(self.pool) > 9:
            del self.pool[0]
        self.pool.append(tensor)

    # Each step takes six numbers in [0, 1).

    def unary(self, n):
        x = self.pick(n[0])
        x = x if x.is_floating_point() else x.float()
        self.add(getattr(x, UNARY[int(n[1] * len(UNARY))])())

    def binary(self, n):
        x, y = self.pick(n[0]), self.pick(n[1])
        self.add(getattr(torch, BINARY[int(n[2] * len(BINARY))])(x, y))

    def number(self, n):
        x = self.pick(n[0])
        self.add((x * (n[1] * 3), x + 2, 1.5 - x, x / 3, x**2)[int(n[2] * 5)])

    def compare(self, n):
        x, y = self.pick(n[0]), self.pick(n[1])
        self.add(torch.where(x > y, x, y * 0.5))

    def write(self, n):
        x, y = self.pick(n[0]), self.pick(n[1])
        with torch.no_grad():
            getattr(x, WRITES[int(n[2] * len(WRITES))])(y)

    def write_part(self, n):
        x = self.pick(n[0])
        with torch.no_grad():
            x[int(n[1] * x.shape[0])] = n[2]

    def write_read(self, n):
        x, y = self.pick(n[0]), self.pick(n[1])
        other = x.t() * 2
        with torch.no_grad():
            x.mul_(n[2] + 0.5).add_(y).clamp_(-9, 9)
            part = x[:1] + 1
            x.mul_(n[3] + 0.5)
        self.add(other.t())
        self.add(part)

    def view(self, n):
        x = self.pick(n[0])
        whole = x.shape == (ROWS, COLUMNS)
        choices = [x.detach(), x[:]]
        if whole:
            choices += [x[:, :1], x[:1], x.view(COLUMNS, ROWS).view(ROWS, COLUMNS)]
            choices += [x.t().t(), x.t().contiguous().t()]
        self.add(choices[int(n[1] * len(choices))])

    def sum(self, n):
        self.add(self.pick(n[0]).sum(-1, keepdim=True))

    def matmul(self, n):
        x = self.pick(n[0]).expand(ROWS, COLUMNS)
        self.add(torch.tanh(x @ x.t() @ x / 100))

    def numpy_write(self, n):
        x = self.pick(n[0]).detach()
        x.numpy()[..., :2] = n[1]

    def item(self, n):
        x = self.pick(n[0])
        self.seen.append(repr(x.flatten()[int(n[1] * x.numel())].item()))

    def branch(self, n):
        x = self.pick(n[0])
        self.add(x * 2 if x.flatten()[0] > n[1] - 0.5 else x - 1)

    def draw(self, n):
        self.add(torch.randn(ROWS, COLUMNS) * n[0])

    def unread_draw(self, n):
        torch.rand(int(n[0] * 9))

    def drop(self, n):
        if len(self.pool) > 4:
            del self.pool[int(n[0] * len(self.pool))]

    def fail(self, n):
        x = self.pick(n[0])
        y = x * 2
        try:
            with torch.no_grad():
                x.mul_(1.25)
            y + torch.ones(7, 5, 3)
        except RuntimeError as error:
            self.seen.append(type(error).__name__)
        self.add(y)

    def contain(self, n):
        self.kept[int(n[0] * 3)] = [self.pick(n[1]) * 1.5, {"x": self.pick(n[2])}]

    def uncontain(self, n):
        entry = self.kept.pop(int(n[0] * 3), None)
        if entry is not None:
            self.add(entry[0] + entry[1]["x"])

    def close(self, n):
        x = self.pick(n[0]) + 1
        function = lambda: x * n[1]  # noqa: E731
        with torch.no_grad():
            self.pick(n[2]).add_(0.5)
        self.add(function())

    def set_data(self, n):
        x, y = self.pick(n[0]), self.pick(n[1])
        if x.dtype == y.dtype and x.shape == y.shape and not x.requires_grad:
            z = x * 2
            x.data = y.detach() * 1.0
            self.add(z)

    def out(self, n):
        x, y = self.pick(n[0]), self.pick(n[1])
        with torch.no_grad():
            target = torch.zeros_like(torch.broadcast_tensors(x, y)[0])
            later = target * 0 + x
            torch.add(x, y, out=target)
            self.add(target)
            self.add(later)

    def gradient(self, n):
        x = self.pick(n[0]).detach().clone().requires_grad_()
        y = ((x * self.pick(n[1]).detach() + 1).tanh() * x).square()
        with torch.no_grad():
            self.pick(n[2]).mul_(0.75)
        y.sum().backward()
        self.add(x.grad)

    def thread(self, n):
        x = self.pick(n[0])
        y = x * 3

        def work():
            with torch.no_grad():
                x.add_(1)
            self.add(y + 1)

        worker = threading.Thread(target=work)
        worker.start()
        worker.join()

    def cast(self, n):
        dtypes = (torch.float64, torch.float32, torch.bfloat16, torch.int64)
        x = self.pick(n[0]).detach()
        x = torch.nan_to_num(x, 0.0, 9.0, -9.0).clamp(-99, 99)
        self.add(x.to(dtypes[int(n[1] * 4)]) + self.pick(n[2]))

    def version(self, n):
        self.seen.append(self.pick(n[0])._version)


STEPS = {
    **dict.fromkeys(("unary", "binary", "number"), 6),
    **dict.fromkeys(("compare", "write", "view", "write_part", "write_read"), 2),
    **dict.fromkeys(
        (
            *("sum", "matmul", "numpy_write", "item", "branch", "draw", "unread_draw"),
            *("drop", "fail", "contain", "uncontain", "close", "set_data", "out"),
            *("gradient", "thread", "cast", "version"),
        ),
        1,
    ),
}


def inputs(seed):
    torch.manual_seed(seed)
    x = torch.randn(ROWS, COLUMNS)
    return [x, torch.rand(ROWS, COLUMNS), x[:, 1:2], torch.randn(COLUMNS)]


def run(program, pool):
    """Everything observable of a run."""
    state = Run(pool)
    for step, numbers in program:
        try:
            getattr(state, step)(numbers)
        except (RuntimeError, TypeError, ValueError) as error:
            state.seen.append((step, type(error).__name__, str(error)))
    return state


def observed(state):
    """As plain data: bits, versions, aliases, the random stream."""
    tensors = [*state.pool, *(t[0] for t in state.kept.values())]
    places = {id(t): k for k, t in enumerate(tensors)}
    aliases = [places.get(id(t._base)) for t in tensors]
    contents = [
        (
            *(str(t.dtype), tuple(t.shape), t.stride(), t._version),
            t.detach().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes(),
        )
        for t in tensors
    ]
    return [state.seen, aliases, contents, torch.rand(3).tolist()]
