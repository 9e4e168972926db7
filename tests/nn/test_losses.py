"""Losses: values and gradients, reductions, errors.

The figures were computed with PyTorch 2.13.
"""

import pytest

import pellucid as torch
from pellucid import nn
from pellucid.fx.experimental.proxy_tensor import make_fx
from pellucid.nn import functional as F

LOGITS = [[1.0, 2.0, 3.0], [0.0, -1.0, 1.0]]
WEIGHT = [1.0, 2.0, 3.0]


def labels():
    return torch.tensor([2, 0])


def soft(rows=((0.1, 0.2, 0.7), (0.3, 0.3, 0.4))):
    return torch.tensor([list(row) for row in rows])


def third():
    return torch.full((2, 3), 0.3)


def zeros():
    return torch.zeros(2, 3)


CASES = {
    "cross_entropy": (
        lambda x: F.cross_entropy(x, labels()),
        [0.907606],
        [0.045015, 0.122364, -0.167379, -0.377636, 0.045015, 0.332621],
    ),
    "cross_entropy, weights": (
        lambda x: F.cross_entropy(x, labels(), torch.tensor(WEIGHT)),
        [0.657606],
        [0.067523, 0.183546, -0.251069, -0.188818, 0.022508, 0.16631],
    ),
    "cross_entropy, smoothing": (
        lambda x: F.cross_entropy(x, labels(), label_smoothing=0.1),
        [0.957606],
        [0.028349, 0.105698, -0.134046, -0.344302, 0.028349, 0.315954],
    ),
    "cross_entropy, sum": (
        lambda x: F.cross_entropy(x, labels(), reduction="sum"),
        [1.815212],
        [0.090031, 0.244728, -0.334759, -0.755271, 0.090031, 0.665241],
    ),
    "cross_entropy, none": (
        lambda x: F.cross_entropy(x, labels(), reduction="none"),
        [0.407606, 1.407606],
        [0.090031, 0.244728, -0.334759, -0.755271, 0.090031, 0.665241],
    ),
    "cross_entropy, ignored": (
        lambda x: F.cross_entropy(x, torch.tensor([2, -100])),
        [0.407606],
        [0.090031, 0.244728, -0.334759, 0.0, 0.0, 0.0],
    ),
    "cross_entropy, probabilities": (
        lambda x: F.cross_entropy(x, soft()),
        [1.057606],
        [-0.004985, 0.022364, -0.017379, -0.027636, -0.104985, 0.13262],
    ),
    "nll_loss, weights": (
        lambda x: F.nll_loss(x.log_softmax(1), labels(), torch.tensor(WEIGHT)),
        [0.657606],
        [0.067523, 0.183546, -0.251069, -0.188818, 0.022508, 0.16631],
    ),
    "binary_cross_entropy": (
        lambda x: F.binary_cross_entropy(x.sigmoid(), third()),
        [1.168074],
        [0.071843, 0.0968, 0.108762, 0.033333, -0.005176, 0.071843],
    ),
    "binary_cross_entropy_with_logits": (
        lambda x: F.binary_cross_entropy_with_logits(
            x, third(), pos_weight=torch.tensor(WEIGHT)
        ),
        [1.276269],
        [0.071843, 0.090839, 0.10402, 0.033333, -0.041729, 0.044949],
    ),
    "kl_div": (
        lambda x: F.kl_div(
            x.log_softmax(1),
            soft(((0.1, 0.2, 0.7), (0.0, 0.6, 0.4))),
            reduction="batchmean",
        ),
        [0.470191],
        [-0.004985, 0.022364, -0.017379, 0.122364, -0.254985, 0.13262],
    ),
    "smooth_l1_loss": (
        lambda x: F.smooth_l1_loss(x, zeros(), beta=2.0),
        [0.625],
        [0.083333, 0.166667, 0.166667, 0.0, -0.083333, 0.083333],
    ),
    "huber_loss": (
        lambda x: F.huber_loss(x, zeros(), delta=0.5),
        [0.5625],
        [0.083333, 0.083333, 0.083333, 0.0, -0.083333, 0.083333],
    ),
    "mse_loss": (
        lambda x: F.mse_loss(x, zeros()),
        [2.666667],
        [0.333333, 0.666667, 1.0, 0.0, -0.333333, 0.333333],
    ),
    "l1_loss, sum": (
        lambda x: F.l1_loss(x, zeros(), reduction="sum"),
        [8.0],
        [1.0, 1.0, 1.0, 0.0, -1.0, 1.0],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_loss_and_gradient(name):
    compute, value, gradient = CASES[name]
    x = torch.tensor(LOGITS, requires_grad=True)
    loss = compute(x)
    assert loss.flatten().tolist() == pytest.approx(value, abs=2e-6)
    loss.sum().backward()
    assert x.grad.flatten().tolist() == pytest.approx(gradient, abs=2e-6)


def test_modules_pass_their_options_on():
    x = torch.tensor(LOGITS)
    module = nn.CrossEntropyLoss(torch.tensor(WEIGHT), label_smoothing=0.1)
    wanted = F.cross_entropy(x, labels(), torch.tensor(WEIGHT), label_smoothing=0.1)
    assert torch.equal(module(x, labels()), wanted)
    assert list(module.state_dict()) == ["weight"]
    assert nn.MSELoss(reduction="sum")(x, zeros()).item() == 16.0
    assert nn.L1Loss(reduction="none")(x, zeros()).shape == (2, 3)
    assert nn.BCEWithLogitsLoss()(x, third()).ndim == 0


def test_an_unknown_reduction_is_refused():
    with pytest.raises(ValueError, match="reduction"):
        F.mse_loss(zeros(), zeros(), reduction="average")


def test_deprecated_flags_still_choose_the_reduction():
    with pytest.warns(UserWarning, match="reduction='sum'"):
        loss = F.mse_loss(zeros() + 1, zeros(), size_average=False)
    assert loss.item() == 6.0


def test_the_warning_of_deprecated_flags_names_the_callers_line():
    with pytest.warns(UserWarning, match="deprecated") as caught:
        F.mse_loss(third(), zeros(), size_average=False)
    assert caught[0].filename == __file__


@pytest.mark.parametrize("reduction", ["median", None, 1])
def test_other_reductions_are_refused(reduction):
    with pytest.raises(ValueError, match=f"not {reduction!r}"):
        F.cross_entropy(third(), labels(), reduction=reduction)


def test_a_reduction_may_be_any_equal_text():
    name = "".join(["s", "um"])  # not the interned object
    assert F.mse_loss(third(), zeros(), reduction=name) == third().square().sum()


def test_broadcast_targets_are_warned_about():
    with pytest.warns(UserWarning, match="broadcast"):
        F.mse_loss(zeros(), torch.zeros(3))


def test_labels_out_of_range_raise():
    with pytest.raises(IndexError):
        F.cross_entropy(torch.tensor(LOGITS), torch.tensor([0, 3]))


@pytest.mark.parametrize("loss", [F.nll_loss, F.cross_entropy])
def test_a_target_of_another_batch_size_is_refused(loss):
    with pytest.raises(ValueError, match="target has size 2 where the input has 4"):
        loss(torch.randn(4, 3), torch.tensor([0, 1]))


def with_out(input, target, weight=None, reduction=1):
    loss = torch.empty(input.shape if reduction == 0 else [])
    return torch.ops.aten.binary_cross_entropy.out(
        input, target, weight, reduction, out=loss
    )


def traced_by_fx(input, target):
    loss = make_fx(F.binary_cross_entropy)(torch.rand(3, 40), torch.rand(3, 40))
    return loss(input, target)


def exported(input, target):
    class Loss(torch.nn.Module):
        def forward(self, x, y):
            return F.binary_cross_entropy(x, y)

    chances = torch.rand(3, 40), torch.rand(3, 40)
    return torch.export.export(Loss(), chances).module()(input, target)


def exported_to_core(input, target):
    class Loss(torch.nn.Module):
        def forward(self, x, y):
            return F.binary_cross_entropy(x, y)

    chances = torch.rand(3, 40), torch.rand(3, 40)
    program = torch.export.export(Loss(), chances).run_decompositions()
    return program.module()(input, target)


@torch.compile(fullgraph=True)
def compiled(input, target):
    return 2 * F.binary_cross_entropy(input * 1.0, target)


@torch.compile(fullgraph=True)
def compiled_part(input, target):
    return F.binary_cross_entropy(input, target, reduction="none")[:, :1] * 2


ENTROPIES = {
    "function": F.binary_cross_entropy,
    "each": lambda x, t: F.binary_cross_entropy(x, t, reduction="none"),
    "weighted": lambda x, t: F.binary_cross_entropy(x, t, torch.rand(40)),
    "by columns": lambda x, t: F.binary_cross_entropy(x.mT, t.mT),
    "module": torch.nn.BCELoss(),
    "aten": torch.ops.aten.binary_cross_entropy,
    "out": with_out,
    "out, each": lambda x, t: with_out(x, t, reduction=0),
    "vmap": torch.func.vmap(F.binary_cross_entropy),
    "vmap of aten": torch.func.vmap(torch.ops.aten.binary_cross_entropy),
    "vmap in vmap": torch.func.vmap(torch.func.vmap(F.binary_cross_entropy)),
    "grad": torch.func.grad(F.binary_cross_entropy),
    "vmap of grad": torch.func.vmap(torch.func.grad(F.binary_cross_entropy)),
    "grad of vmap": torch.func.grad(
        lambda x, t: torch.func.vmap(F.binary_cross_entropy)(x, t).sum()
    ),
    "jvp": lambda x, t: torch.func.jvp(
        lambda x: F.binary_cross_entropy(x, t), (x,), (torch.ones_like(x),)
    ),
    "fx": traced_by_fx,
    "export": exported,
    "export to core": exported_to_core,
    "compile": compiled,
    "compile, a part": compiled_part,
}


@pytest.mark.parametrize("form", ENTROPIES)
@pytest.mark.parametrize("wrong", [-0.1, 1.5, float("nan")])
def test_cross_entropies_outside_zero_to_one_are_refused(form, wrong):
    entropy = ENTROPIES[form]
    good, bad = torch.rand(3, 40), torch.rand(3, 40)
    bad[1, 33] = wrong
    message = "all elements of {} should be between 0 and 1"
    for _ in range(3):  # repeated calls run prepared
        entropy(good, good)
        with pytest.raises(RuntimeError, match=message.format("input")):
            entropy(bad, good)
        with pytest.raises(RuntimeError, match=message.format("target")):
            entropy(good, bad)


def test_what_follows_a_checked_op_computes_what_it_computed():
    x, t = torch.rand(3, 40), torch.rand(3, 40)
    each = F.binary_cross_entropy(x, t, reduction="none")
    assert torch.equal(compiled(x, t), 2 * F.binary_cross_entropy(x * 1.0, t))
    assert torch.equal(compiled_part(x, t), each[:, :1] * 2)
    batched = torch.func.vmap(F.binary_cross_entropy)(x, t)
    torch.testing.assert_close(batched, each.mean(1))
