"""Hooks of modules: order, what they may change, removal."""

import copy
import pickle

import pytest

import pellucid as torch
from pellucid import nn
from pellucid.nn.modules import module as module_hooks


class Double(nn.Module):
    def forward(self, x, extra=0):
        return x * 2 + extra


def test_forward_hooks_run_around_forward_in_order():
    module, log = Double(), []
    module.register_forward_pre_hook(lambda m, args: log.append(("pre", args)))
    module.register_forward_hook(lambda m, args, out: log.append(("post", args, out)))
    module.register_forward_pre_hook(lambda m, args: log.append("first"), prepend=True)
    assert module(3) == 6
    assert log == ["first", ("pre", (3,)), ("post", (3,), 6)]


def test_hooks_may_replace_arguments_and_output():
    module = Double()
    module.register_forward_pre_hook(lambda m, args: 10)
    module.register_forward_hook(lambda m, args, out: out + 1)
    assert module(3) == 21


def test_hooks_with_keywords():
    module, seen = Double(), []
    module.register_forward_pre_hook(
        lambda m, args, kwargs: (args, {"extra": 5}), with_kwargs=True
    )
    module.register_forward_hook(
        lambda m, args, kwargs, out: seen.append(kwargs), with_kwargs=True
    )
    assert module(1) == 7
    assert seen == [{"extra": 5}]


def test_a_pre_hook_with_keywords_must_return_both():
    module = Double()
    module.register_forward_pre_hook(lambda m, a, k: 3, with_kwargs=True)
    with pytest.raises(RuntimeError):
        module(1)


def test_removed_hooks_do_not_run():
    module, log = Double(), []
    handle = module.register_forward_hook(lambda *_: log.append(1))
    with handle:
        module(1)
    handle.remove()
    module(1)
    assert log == [1]


def test_always_called_hooks_see_failures():
    class Failing(nn.Module):
        def forward(self, x):
            raise ValueError("no")

    module, log = Failing(), []
    module.register_forward_hook(lambda m, a, out: log.append(out), always_call=True)
    module.register_forward_hook(lambda m, a, out: log.append("never"))
    with pytest.raises(ValueError):
        module(1)
    assert log == [None]


def test_global_hooks_reach_every_module():
    log = []
    handles = [
        module_hooks.register_module_forward_pre_hook(
            lambda m, a: log.append(("pre", type(m).__name__))
        ),
        module_hooks.register_module_forward_hook(
            lambda m, a, o: log.append(("post", type(m).__name__))
        ),
    ]
    try:
        nn.Sequential(Double())(1)
    finally:
        for handle in handles:
            handle.remove()
    Double()(1)
    assert log == [
        ("pre", "Sequential"),
        ("pre", "Double"),
        ("post", "Double"),
        ("post", "Sequential"),
    ]


def test_registration_hooks_may_replace_what_is_registered():
    def halve(module, name, parameter):
        return nn.Parameter(parameter.detach() / 2)

    handle = module_hooks.register_module_parameter_registration_hook(halve)
    try:
        module = nn.Module()
        module.weight = nn.Parameter(torch.ones(1))
    finally:
        handle.remove()
    assert module.weight.item() == 0.5


def test_full_backward_hook_sees_input_and_output_gradients():
    module, log = Double(), []
    module.register_full_backward_hook(
        lambda m, grad_in, grad_out: log.append((grad_in[0].item(), grad_out[0].item()))
    )
    x = torch.tensor(1.0, requires_grad=True)
    (module(x) * 3).backward()
    assert log == [(6.0, 3.0)]
    assert x.grad.item() == 6.0


def test_full_backward_hooks_may_replace_gradients():
    module = Double()
    module.register_full_backward_pre_hook(lambda m, grad_out: (grad_out[0] * 10,))
    module.register_full_backward_hook(lambda m, gi, go: (gi[0] + 1,))
    x = torch.tensor(1.0, requires_grad=True)
    module(x).backward()
    assert x.grad.item() == 21.0


def test_full_backward_hook_without_input_gradient_runs():
    module, log = nn.Linear(2, 1), []
    module.register_full_backward_hook(lambda m, gi, go: log.append((gi, len(go))))
    module(torch.ones(1, 2)).sum().backward()
    assert log == [((None,), 1)]


def test_the_two_sorts_of_backward_hooks_exclude_each_other():
    module = Double()
    module.register_full_backward_hook(lambda *_: None)
    with pytest.raises(RuntimeError):
        module.register_backward_hook(lambda *_: None)


def _shout(module, args, output):
    return "shouted"


def test_hooks_survive_copy_and_pickle():
    module = Double()
    module.register_forward_hook(_shout)
    assert copy.deepcopy(module)(1) == "shouted"
    assert pickle.loads(pickle.dumps(module))(1) == "shouted"


def test_state_dict_hooks():
    module = nn.Linear(1, 1)
    module.register_state_dict_pre_hook(lambda m, prefix, keep: prefixes.append(prefix))
    module.register_state_dict_post_hook(
        lambda m, state, prefix, meta: state.update({f"{prefix}more": 1})
    )
    prefixes = []
    assert list(nn.Sequential(module).state_dict()) == ["0.weight", "0.bias", "0.more"]
    assert prefixes == ["0."]


def test_load_hooks_may_rename_and_forgive():
    module = nn.Linear(1, 1)

    def rename(m, state, prefix, *rest):
        state[f"{prefix}weight"] = state.pop(f"{prefix}w")

    module.register_load_state_dict_pre_hook(rename)
    module.register_load_state_dict_post_hook(lambda m, keys: keys.missing_keys.clear())
    module.load_state_dict({"w": torch.full((1, 1), 7.0)})
    assert module.weight.item() == 7.0
