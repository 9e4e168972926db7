"""Losses that combine ops: margins, likelihoods, distances of pairs and triplets."""

from math import pi

from pellucid_compiler.abi.codes import LOSS_REDUCTION
from pellucid_compiler.composites import api, composite, require
from pellucid_compiler.composites.distances import pairwise_distance

NONE, MEAN, SUM = map(LOSS_REDUCTION.__getitem__, ("none", "mean", "sum"))


def reduced(loss, reduction):
    """Every element of ``loss``, their mean or their sum."""
    if reduction == NONE:
        return loss
    return loss.sum() if reduction == SUM else loss.mean()


@composite(
    "poisson_nll_loss(Tensor input, Tensor target, bool log_input, bool full, "
    "float eps, int reduction) -> Tensor",
    method=False,
    autocast="float32",
)
def poisson_nll_loss(x, target, log_input, full, eps, reduction):
    """Minus the log likelihood of counts under Poisson's distribution; ``full`` adds
    Stirling's approximation of ``log(target!)``.
    """
    loss = x.exp() - target * x if log_input else x - target * (x + eps).log()
    if full:
        stirling = target * target.log() - target + 0.5 * (2 * pi * target).log()
        loss = (loss + stirling.masked_fill(target <= 1, 0)).to(loss.dtype)
    return reduced(loss, reduction)


@composite(
    "hinge_embedding_loss(Tensor self, Tensor target, float margin=1.0, "
    "int reduction=Mean) -> Tensor",
    method=False,
    autocast="float32",
)
def hinge_embedding_loss(x, target, margin, reduction):
    """``x`` where the target is 1, ``max(0, margin - x)`` where it is -1."""
    zero = api.zeros_like(x)
    unlike = api.where(target != 1, (api.full_like(x, margin) - x).clamp_min(0), zero)
    return reduced(unlike + api.where(target != -1, x, zero), reduction)


@composite(
    "margin_ranking_loss(Tensor input1, Tensor input2, Tensor target, "
    "float margin=0.0, int reduction=Mean) -> Tensor",
    method=False,
    autocast="float32",
)
def margin_ranking_loss(a, b, target, margin, reduction):
    """``max(0, -target (a - b) + margin)``."""
    return reduced((-target * (a - b) + margin).clamp_min(0), reduction)


@composite(
    "cosine_embedding_loss(Tensor input1, Tensor input2, Tensor target, "
    "float margin=0.0, int reduction=Mean) -> Tensor",
    method=False,
    autocast="float32",
)
def cosine_embedding_loss(a, b, target, margin, reduction):
    """``1 - cos`` where the target is 1, ``max(0, cos - margin)`` where it is -1."""
    require(
        target.dim() + 1 == a.dim() and target.dim() + 1 == b.dim(),
        "cosine_embedding_loss: inputs have one dim more than the target; "
        "these have {}, {} and {}",
        a.dim(),
        b.dim(),
        target.dim(),
    )
    tiny = 1e-12
    sizes = ((a * a).sum(-1) + tiny) * ((b * b).sum(-1) + tiny)
    cosine = (a * b).sum(-1) / sizes.sqrt()
    zero = api.zeros_like(cosine)
    like = api.where(target == 1, 1 - cosine, zero)
    unlike = api.where(target == -1, (cosine - margin).clamp_min(0), zero)
    return reduced(like + unlike, reduction)


@composite(
    "triplet_margin_loss(Tensor anchor, Tensor positive, Tensor negative, "
    "float margin=1.0, float p=2, float eps=1e-06, bool swap=False, "
    "int reduction=Mean) -> Tensor",
    method=False,
    autocast="float32",
)
def triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, reduction):
    """``max(0, |anchor - positive| - |anchor - negative| + margin)``; with ``swap``,
    the distance of positive and negative replaces the second one where it is smaller.
    """
    if not anchor.dim() == positive.dim() == negative.dim():
        raise RuntimeError(
            "triplet_margin_loss: the inputs must have the same number of dims, not "
            f"{anchor.dim()}, {positive.dim()} and {negative.dim()}"
        )
    distance = pairwise_distance.body
    near = distance(anchor, positive, p, eps, False)
    far = distance(anchor, negative, p, eps, False)
    if swap:
        far = api.minimum(far, distance(positive, negative, p, eps, False))
    return reduced((near - far + margin).clamp_min(0), reduction)


@composite(
    "multi_margin_loss(Tensor self, Tensor target, Scalar p=1, Scalar margin=1, "
    "Tensor? weight=None, int reduction=Mean) -> Tensor",
    namespace="nn",
    out=True,
    backward="multi_margin_loss_backward(Tensor grad_output, Tensor self, "
    "Tensor target, Scalar p, Scalar margin, Tensor? weight=None, "
    "int reduction=Mean) -> Tensor",
    seen=True,
    autocast="float32",
    casts_out=False,
)
def multi_margin_loss(x, target, p, margin, weight, reduction):
    """``sum max(0, margin - x[y] + x[i]) ** p`` over the wrong classes i, divided by
    the number of classes.
    """
    require(p in (1, 2), "multi_margin_loss: p is 1 or 2, not {}", p)
    scores = x if x.dim() > 1 else x.reshape(1, -1)
    labels = target.reshape(-1, 1)
    classes = scores.shape[-1]
    require(
        x.dim() <= 2 and scores.shape[0] == labels.shape[0] and classes > 0,
        "multi_margin_loss: an input of shape {} does not fit a target of shape {}",
        x.shape,
        target.shape,
    )
    require(
        weight is None or weight.shape == (classes,),
        "multi_margin_loss: give a weight for each of the {} classes",
        classes,
    )
    terms = (margin - scores.gather(1, labels) + scores).clamp_min(0)
    terms = terms if p == 1 else terms * terms
    if weight is not None:
        terms = terms * weight[labels]
    loss = terms.scatter(1, labels, 0.0).sum(1) / classes
    return reduced(loss if target.dim() else loss[0], reduction)


@composite(
    "multilabel_margin_loss_forward(Tensor self, Tensor target, int reduction) -> "
    "(Tensor output, Tensor is_target)",
    method=False,
    function=False,
    seen=True,
    backward="multilabel_margin_loss_backward(Tensor grad_output, Tensor self, "
    "Tensor target, int reduction, Tensor is_target) -> Tensor",
    forms=(
        "multilabel_margin_loss_forward.output(Tensor self, Tensor target, "
        "int reduction, *, Tensor(a!) output, Tensor(b!) is_target) -> "
        "(Tensor(a!), Tensor(b!))",
    ),
)
def multilabel_margin_loss_forward(x, target, reduction):
    """``multilabel_margin_loss``, and a mask of the target classes."""
    require(
        x.shape == target.shape and x.dim() <= 2,
        "multilabel_margin_loss: input {} and target {} must have the same "
        "shape, of at most 2 dims",
        x.shape,
        target.shape,
    )
    scores = x if x.dim() > 1 else x.reshape(1, -1)
    labels = target if target.dim() > 1 else target.reshape(1, -1)
    named = (labels < 0).long().cumsum(1) == 0
    places = labels.clamp_min(0)
    counts = api.zeros_like(scores).scatter_add(1, places, named.to(scores.dtype))
    gaps = 1 - scores.gather(1, places).unsqueeze(2) + scores.unsqueeze(1)
    counted = named.unsqueeze(2) & (counts == 0).unsqueeze(1)
    terms = gaps.clamp_min(0).masked_fill(~counted, 0)
    loss = terms.sum((1, 2)) / scores.shape[1]
    is_target = (counts != 0).to(x.dtype).reshape(target.shape)
    return reduced(loss if x.dim() > 1 else loss[0], reduction), is_target


@composite(
    "multilabel_margin_loss(Tensor self, Tensor target, int reduction=Mean) -> Tensor",
    namespace="nn",
    out=True,
    autocast="float32",
    casts_out=False,
)
def multilabel_margin_loss(x, target, reduction):
    """Margins of 1 between the target classes (before the first -1) and all others."""
    return api.ops.aten.multilabel_margin_loss_forward(x, target, reduction)[0]


_OF_LABELS = (
    "(Tensor self, Tensor target, Tensor? weight=None, int reduction=Mean, "
    "SymInt ignore_index=-100) -> Tensor"
)


@composite(f"nll_loss2d{_OF_LABELS}", namespace="nn", out=True)
def nll_loss2d(x, target, weight, reduction, ignore_index):
    """``nll_loss`` of images."""
    require(x.dim() == 4, "nll_loss2d: the input has {} dims; give 4", x.dim())
    return api._C._nn.nll_loss(x, target, weight, reduction, ignore_index)


@composite(f"nll_loss_nd{_OF_LABELS}", namespace="nn")
def nll_loss_nd(x, target, weight, reduction, ignore_index):
    """``nll_loss`` with any number of spatial dims."""
    return api._C._nn.nll_loss(x, target, weight, reduction, ignore_index)


@composite(
    "ctc_loss.IntList(Tensor log_probs, Tensor targets, int[] input_lengths, "
    "int[] target_lengths, int blank=0, int reduction=Mean, "
    "bool zero_infinity=False) -> Tensor",
    method=False,
)
def ctc_loss(log_probs, targets, input_lengths, target_lengths, *options):
    """``ctc_loss`` with its lengths as numbers."""
    lengths = [
        api.tensor(counts, dtype=api.int64, device=log_probs.device)
        for counts in (input_lengths, target_lengths)
    ]
    return api.ctc_loss(log_probs, targets, *lengths, *options)
