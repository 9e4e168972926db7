"""Random training steps for compiled callables: forward, backward and update.

A step builds a loss of a pool of tensors, with hooks, checkpoints, custom Functions,
writes in place and double backward on the way, and updates its parameters in one of
several ways. ``observed`` returns everything observable of it, as plain data.
"""

import random

import pellucid as torch
from pellucid.utils.checkpoint import checkpoint

F = torch.nn.functional
ROWS, COLUMNS = 48, 64

UNARY = (
    *(torch.tanh, torch.sigmoid, F.gelu, F.silu, torch.relu, torch.sin, F.softplus),
    lambda x: x.abs() + 0.1,
    lambda x: x.clamp(-1, 1),
    lambda x: (x * x + 0.5).log(),
)
BINARY = (
    *(torch.add, torch.mul, torch.sub, torch.maximum),
    lambda x, y: x / (y.abs() + 1),
    lambda x, y: torch.where(x > y, x, y * 0.5),
    lambda x, y: torch.add(x, y, alpha=0.3),
)
ROWWISE = (
    lambda x: F.layer_norm(x, (COLUMNS,)),
    lambda x: torch.softmax(x, -1),
    lambda x: x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-5),
)
VIEWS = (
    lambda x: x.t().contiguous().t(),
    lambda x: x.reshape(COLUMNS, ROWS).t(),
    lambda x: x.view(ROWS, 2, COLUMNS // 2).transpose(1, 2).reshape(ROWS, COLUMNS),
    lambda x: x[:, :1].expand(ROWS, COLUMNS),
    lambda x: torch.cat([x[:, :9], x[:, 9:] * 2], 1),
)
UPDATES = (
    *("backward", "grad", "retain", "twice", "accumulate", "zero", "clip", "scaler"),
    *("sgd", "adamw", "by_hand", "average", "after_hooks", "momentum", "lion"),
)


class Doubled(torch.autograd.Function):
    """2 sin x."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sin() * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.saved_tensors[0].cos() * 2


def of(choices, number):
    return choices[int(number * len(choices))]


class Run:
    """One step; each method takes four numbers in [0, 1)."""

    def __init__(self, state):
        self.state, self.params = state, state.params
        self.leaf = state.x.detach().clone().requires_grad_()
        gain = self.params["gain"]
        self.pool = [state.x, state.y, self.leaf, self.leaf * gain]
        self.seen, self.kept = [], []

    def pick(self, number):
        return of(self.pool, number).expand(ROWS, COLUMNS)

    def add(self, tensor):
        if len(self.pool) > 8:
            del self.pool[0]
        self.pool.append(tensor)

    def unary(self, n):
        self.add(of(UNARY, n[0])(self.pick(n[1])))

    def binary(self, n):
        self.add(of(BINARY, n[0])(self.pick(n[1]), self.pick(n[2])))

    def number(self, n):
        x = self.pick(n[0])
        self.add(of((x * (n[2] * 2), x + 1, 2 - x, x / 3, x**2), n[1]))

    def rowwise(self, n):
        self.add(of(ROWWISE, n[0])(self.pick(n[1])))

    def view(self, n):
        self.add(of(VIEWS, n[0])(self.pick(n[1])))

    def layer(self, n):
        params = self.params
        self.add(F.linear(self.pick(n[0]), params["weight"], params["bias"]))

    def parameter(self, n):
        self.add(self.pick(n[0]) * of(list(self.params.values())[1:], n[1]))

    def write(self, n):
        x, y = self.pick(n[0]) * 1.5, self.pick(n[1])
        writes = (lambda: x.add_(y), x.tanh_, x.relu_, lambda: x[:5].mul_(2))
        of(writes, n[2])()
        self.add(x)

    def drop(self, n):
        self.add(F.dropout(self.pick(n[0]), 0.3, True))

    def hook(self, n):
        x = self.pick(n[0]) * 2
        if x.requires_grad:
            seen, kept = self.seen, self.kept
            hooks = (lambda g: g * 0.5, lambda g: seen.append(g.sum().item()))
            x.register_hook(of((*hooks, kept.append), n[1]))
            if n[2] < 0.2:
                x.retain_grad()
                self.kept.append(x)
        self.add(x)

    def checkpointed(self, n):
        gain = self.params["gain"]
        body = lambda x: torch.tanh(x * gain) * F.dropout(x, 0.2, True)  # noqa: E731
        self.add(checkpoint(body, self.pick(n[0]), use_reentrant=False))

    def function(self, n):
        self.add(Doubled.apply(self.pick(n[0])))

    def read(self, n):
        self.seen.append(self.pick(n[0])[0, 0].item())

    def twice_differentiated(self, n):
        x = self.pick(n[0]).detach().clone().requires_grad_()
        y = (torch.tanh(x * self.params["gain"]) * x).sum()
        (grad,) = torch.autograd.grad(y, x, create_graph=True)
        self.add(grad * grad)

    def cast(self, n):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            self.add((self.pick(n[0]) @ self.params["weight"]).float())
        self.add(self.pick(n[1]).double().mul(1.5).float())

    def detach(self, n):
        self.add(self.pick(n[0]).detach() * 2)


STEPS = {
    **dict.fromkeys(("unary", "binary", "number"), 5),
    **dict.fromkeys(("rowwise", "view", "parameter", "write", "hook"), 2),
    **dict.fromkeys(
        (
            *("layer", "drop", "checkpointed", "function", "read", "cast", "detach"),
            "twice_differentiated",
        ),
        1,
    ),
}


class State:
    """Inputs and parameters, which steps update."""

    def __init__(self, seed):
        torch.manual_seed(seed)
        self.x, self.y = torch.randn(ROWS, COLUMNS), torch.rand(ROWS, COLUMNS)
        self.params = {
            "weight": torch.randn(COLUMNS, COLUMNS) / 8,
            "gain": torch.randn(COLUMNS),
            "bias": torch.randn(COLUMNS),
            "scale": torch.randn(ROWS, COLUMNS),
        }
        for parameter in self.params.values():
            parameter.requires_grad_()
        self.averages = [p.detach().clone() for p in self.params.values()]


def make_step(seed):
    """(steps with numbers, the kind of update)."""
    random_ = random.Random(seed)
    names = [name for name, weight in STEPS.items() for _ in range(weight)]
    length = random_.randint(3, 10)
    steps = [
        (random_.choice(names), [random_.random() for _ in range(4)])
        for _ in range(length)
    ]
    return steps, random_.choice(UPDATES)


def run(step, state):
    """One step, and everything observable of it."""
    steps, update = step
    actual = Run(state)
    for name, numbers in steps:
        try:
            getattr(actual, name)(numbers)
        except RuntimeError as error:
            actual.seen.append((name, str(error)))
    loss = sum((x.float() ** 2).mean() for x in actual.pool[-3:])
    try:
        _update(actual, loss, update)
    except RuntimeError as error:
        actual.seen.append((update, str(error)))
    return actual


def _update(actual, loss, update):
    params = list(actual.params.values())
    if update == "grad":
        grads = torch.autograd.grad(loss, [*params, actual.leaf], allow_unused=True)
        actual.kept += [g for g in grads if g is not None]
        return
    if update == "scaler":
        scaler, sgd = torch.amp.GradScaler("cpu"), torch.optim.SGD(params, 0.1)
        scaler.scale(loss).backward()
        scaler.step(sgd)
        scaler.update()
        return
    if update == "after_hooks":
        note = lambda p: actual.seen.append(p.grad.sum().item())  # noqa: E731
        hooks = [p.register_post_accumulate_grad_hook(note) for p in params]
        loss.backward()
        for hook in hooks:
            hook.remove()
        return
    loss.backward(retain_graph=update == "retain")
    with_grad = [p for p in params if p.grad is not None]
    if update in ("retain", "twice"):
        loss.backward()
    elif update == "accumulate":
        (actual.leaf * params[1]).square().mean().backward()
    elif update == "zero":
        for p in with_grad:
            p.grad.zero_()
    elif update == "clip" and with_grad:
        actual.seen.append(torch.nn.utils.clip_grad_norm_(with_grad, 0.5).item())
    elif update == "sgd":
        torch.optim.SGD(params, 0.1, momentum=0.9).step()
    elif update == "adamw":
        torch.optim.AdamW(params, 1e-2).step()
    elif update == "by_hand":
        with torch.no_grad():
            for p in with_grad:
                p -= 0.1 * p.grad
                p.grad = None
    elif update in ("momentum", "lion"):
        _update_in_place(actual.state, update)
    elif update == "average":
        with torch.no_grad():
            for average, p in zip(actual.state.averages, params, strict=True):
                average.mul_(0.9).add_(p, alpha=0.1)


def _update_in_place(state, update):
    with torch.no_grad():
        for m, p in zip(state.averages, state.params.values(), strict=True):
            if p.grad is None:
                continue
            p.grad.mul_(0.5).clamp_(-1, 1)
            if update == "momentum":
                m.mul_(0.9).add_(p.grad)
                p.mul_(0.999).sub_(m * 0.1)
            else:
                p.add_((m * 0.9 + p.grad * 0.1).sign_(), alpha=-0.01)
                m.lerp_(p.grad, 0.1)


def observed(actual):
    """As plain data: bits, versions, aliases, graphs, the random stream."""
    params = list(actual.params.values())
    tensors = [*actual.pool, actual.leaf, *actual.kept, *params, *actual.state.averages]
    tensors += [t.grad for t in (*params, actual.leaf) if t.grad is not None]
    places = {id(t): k for k, t in enumerate(tensors)}
    contents = [
        (
            *(str(t.dtype), tuple(t.shape), t.stride(), t._version, t.requires_grad),
            *(type(t.grad_fn).__name__, places.get(id(t._base))),
            t.detach().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes(),
        )
        for t in tensors
    ]
    return [actual.seen, contents, torch.rand(3).tolist()]
