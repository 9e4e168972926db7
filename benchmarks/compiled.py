"""Cases of ``torch.compile``: each eager and compiled, on both sides; training steps
in two modes.

Group ``compile`` of cases.py. PyTorch's side needs a C++ compiler.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from networks import networks, perceptron_step

Function = Callable[..., object]


def black_scholes(torch: Any) -> Function:
    """Prices of a call and a put: 45 ops, two results."""

    def normal(x: Any) -> Any:
        return 0.5 * (1 + torch.erf(x * 0.7071067811865475))

    def prices(price: Any, strike: Any, time: Any, rate: Any, spread: Any) -> Any:
        deviation = spread * torch.sqrt(time)
        drift = (rate + spread * spread / 2) * time
        d1 = (torch.log(price / strike) + drift) / deviation
        d2 = d1 - deviation
        discounted = strike * torch.exp(-rate * time)
        call = price * normal(d1) - discounted * normal(d2)
        return call, discounted * normal(-d2) - price * normal(-d1)

    return prices


def duffing(torch: Any) -> Function:
    """Four steps of a Duffing oscillator: 44 ops, two results."""

    def steps(x: Any, v: Any) -> Any:
        for _ in range(4):
            force = -0.2 * v - -1.0 * x - 5.0 * x * x * x + 8.0
            x, v = x + 0.01 * v, v + 0.01 * force
        return x, v

    return steps


def with_gradients(function: Function) -> Function:
    """The gradients of the sum of its results by its arguments: a whole step."""

    def step(*args: Any) -> Any:
        leaves = [x.detach().requires_grad_() for x in args]
        sum(y.sum() for y in function(*leaves)).backward()  # type: ignore[attr-defined]
        return [x.grad for x in leaves]

    return step


def programs(torch: Any) -> dict[str, tuple[Function, tuple[Any, ...]]]:
    """Name to a function and its arguments."""
    functional = torch.nn.functional
    cases: dict[str, tuple[Function, tuple[Any, ...]]] = {}
    for name, size in (("1M", 1_000_000), ("16K", 16_384), ("1K", 1_000)):
        options = tuple(torch.rand(size) + 0.1 for _ in range(5))
        cases[f"Black-Scholes {name}"] = (black_scholes(torch), options)
        cases[f"Duffing {name}"] = (duffing(torch), options[:2])

    greeks, sensitivities = (with_gradients(f(torch)) for f in (black_scholes, duffing))
    options = tuple(torch.rand(200_000) + 0.1 for _ in range(5))
    cases["Black-Scholes with gradients 200K"] = (greeks, options)
    cases["Duffing with gradients 200K"] = (sensitivities, options[:2])

    def swiglu(a: Any, b: Any) -> object:
        return functional.silu(a) * b

    def masked_softmax(scores: Any, mask: Any) -> object:
        return torch.softmax((scores * 0.125).masked_fill(mask, float("-inf")), -1)

    def residual_norm(x: Any, y: Any, weight: Any, bias: Any) -> object:
        return functional.layer_norm(x + y, weight.shape, weight, bias)

    def kept_residual(x: Any, y: Any, weight: Any, bias: Any) -> object:
        total = x + y
        return total, functional.layer_norm(total, weight.shape, weight, bias)

    def rms_norm(x: Any, weight: Any) -> object:
        scale = torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6)
        return x * scale * weight

    def squared_error(x: Any, y: Any) -> object:
        return ((x - y) ** 2).mean()

    def reads(x: Any) -> object:
        for _ in range(40):
            x = x * (1.0 + 0.0 * x[0, 0].item())
        return x

    wide = torch.randn(1024, 2048)
    scores = torch.randn(4096, 512)
    cases["swiglu 1024x2048"] = (swiglu, (wide, wide + 1))
    gated = with_gradients(lambda a, b: (swiglu(a, b),))
    cases["swiglu with gradients 1024x2048"] = (gated, (wide, wide + 1))
    cases["swiglu 64x64"] = (swiglu, (wide[:64, :64].clone(), wide[:64, :64] + 1))
    cases["masked softmax 4096x512"] = (masked_softmax, (scores, scores > 1))
    rows = [torch.randn(1024, 768) for _ in range(2)]
    factors = [torch.randn(768) for _ in range(2)]
    cases["residual + layer norm 1024x768"] = (residual_norm, (*rows, *factors))
    cases["kept residual + layer norm 1024x768"] = (kept_residual, (*rows, *factors))
    cases["RMS norm 1024x768"] = (rms_norm, (rows[0], factors[0]))
    cases["squared error 1024x768"] = (squared_error, tuple(rows))
    cases["40 reads 64x64"] = (reads, (wide[:64, :64].clone(),))
    return cases


def compiled(torch: Any) -> dict[str, Callable[[], Callable[[], object]]]:
    """Each program twice, so that one run has both."""
    cases = {}
    for name, (function, args) in programs(torch).items():
        cases[f"{name}, eager"] = _maker(torch, function, args, warm=1)
        cases[f"{name}, compiled"] = _maker(torch, torch.compile(function), args, 5)
    for name, make in _steps(torch).items():
        cases[f"{name}, eager"] = make
        for mode in ("default", "reduce-overhead"):
            cases[f"{name}, {mode}"] = _step_maker(torch, make, mode)
    return cases


def _steps(torch: Any) -> dict[str, Callable[[], Function]]:
    """Whole training steps: forward and backward pass and update."""
    steps: dict[str, Callable[[], Function]] = {
        "perceptron, batch 8, step": lambda: perceptron_step(torch, "SGD", 8)
    }
    for name, make in networks(torch).items():
        steps[f"{name}, step"] = lambda make=make: make()[0]
    return steps


def _step_maker(
    torch: Any, make: Callable[[], Function], mode: str
) -> Callable[[], Function]:
    """Called often enough for both modes to have decided what is faster."""
    return lambda: _maker(torch, torch.compile(make(), mode=mode), (), 50)()


def _maker(
    torch: Any, function: Function, args: tuple[Any, ...], warm: int
) -> Callable[[], Callable[[], object]]:
    def make() -> Callable[[], object]:
        for _ in range(warm):
            function(*args)
            if torch.__name__ == "pellucid":
                from pellucid._compile import background

                background.wait()
        return lambda: function(*args)

    return make
