"""Grad modes, module base, libraries and dispatch traces."""

import signal

import pytest

import pellucid as torch
from pellucid import _C


def test_grad_modes_nest_and_restore():
    assert torch.is_grad_enabled()
    with torch.no_grad():
        assert not torch.is_grad_enabled()
        with torch.enable_grad():
            assert torch.is_grad_enabled()
        assert not torch.is_grad_enabled()
    assert torch.is_grad_enabled()


def test_one_context_object_may_be_entered_again():
    context = torch.no_grad()
    with context, context:
        pass
    assert torch.is_grad_enabled()


def test_grad_modes_decorate_functions_and_generators():
    @torch.no_grad()
    def function():
        return torch.is_grad_enabled()

    @torch.no_grad
    def generator():
        yield torch.is_grad_enabled()
        yield torch.is_grad_enabled()

    assert function() is False and function.__name__ == "function"
    seen = []
    for enabled in generator():
        seen.append((enabled, torch.is_grad_enabled()))
    assert seen == [(False, True)] * 2


def test_set_grad_enabled_works_at_once_and_as_a_scope():
    torch.set_grad_enabled(False)
    assert not torch.is_grad_enabled()
    with torch.set_grad_enabled(True):
        assert torch.is_grad_enabled()
    assert not torch.is_grad_enabled()
    torch.set_grad_enabled(True)


def test_inference_mode():
    with torch.inference_mode():
        assert torch.is_inference_mode_enabled() and not torch.is_grad_enabled()
    assert not torch.is_inference_mode_enabled() and torch.is_grad_enabled()


class Small(_C.ModuleBase):
    def __init__(self):
        self._parameters, self._buffers, self._modules = {"w": 1}, {"b": 2}, {}

    def forward(self, *args, **kwargs):
        return args, kwargs

    def _call_impl(self, *args, **kwargs):
        """What calls go through once a module of this process has had a hook."""
        return self.forward(*args, **kwargs)


def test_modules_find_members_in_their_live_dicts():
    module = Small()
    assert (module.w, module.b) == (1, 2)
    module._parameters["late"] = 3
    assert module.late == 3
    with pytest.raises(AttributeError, match="'Small' object has no attribute 'x'"):
        module.x  # noqa: B018


def test_modules_call_forward():
    assert Small()(1, k=2) == ((1,), {"k": 2})
    module = Small()
    module.forward = lambda *_: "own"
    assert module(1) == "own"
    assert Small()(*range(20)) == (tuple(range(20)), {})


def test_modules_may_override_lookup():
    class Fallback(Small):
        def __getattr__(self, name):
            try:
                return super().__getattr__(name)
            except AttributeError:
                return f"made {name}"

    assert (Fallback().w, Fallback().other) == (1, "made other")


def test_ops_and_kernels_from_python():
    library = torch.library.Library("surface_test", "DEF")
    library.define("twice(Tensor x, *, int times=2) -> Tensor")
    library.impl("twice", lambda x, times: x * times, "CPU")
    x = torch.tensor([1.0, 2.0])
    assert torch.ops.surface_test.twice(x).tolist() == [2.0, 4.0]
    assert torch.ops.surface_test.twice(x, times=3).tolist() == [3.0, 6.0]
    library.define("wrong(Tensor x) -> Tensor")
    library.impl("wrong", lambda x: 3)
    with pytest.raises(TypeError, match="surface_test::wrong"):
        torch.ops.surface_test.wrong(x)


def test_kernels_errors_arrive_unchanged():
    library = torch.library.Library("surface_test", "FRAGMENT")
    library.define("failing(Tensor x) -> Tensor")

    def fail(x):
        raise KeyError("mine")

    library.impl("failing", fail)
    with pytest.raises(KeyError, match="mine"):
        torch.ops.surface_test.failing(torch.tensor([1.0]))


def test_dispatch_traces_show_ops_and_keys():
    x = torch.tensor([1.0], requires_grad=True)
    _C._start_dispatch_trace()
    _ = x * x
    steps = _C._stop_dispatch_trace()
    assert [(depth, op, key) for depth, op, key, _, _ in steps] == [
        (0, "aten::mul.Tensor", "Autograd"),
        (1, "aten::mul.Tensor", "CPU"),
    ]


def test_generators_repeat_their_streams():
    state = torch.get_rng_state()
    assert state.dtype is torch.uint8 and state.numel() == 5056
    generator = torch.Generator().manual_seed(3)
    assert generator.initial_seed() == 3
    assert (
        generator.get_state().tolist() == generator.clone_state().get_state().tolist()
    )
    with pytest.raises(TypeError):
        generator.set_state(torch.tensor([1.0]))


def test_an_interrupt_stops_a_long_op():
    x = torch.ones(1 << 24)

    def interrupt(*_):
        raise KeyboardInterrupt

    previous = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    try:
        with pytest.raises(KeyboardInterrupt):
            for _ in range(10_000):
                torch.exp(x)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
    assert torch.exp(x[:1]).item() > 2.7
