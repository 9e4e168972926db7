"""Losses: cross_entropy with every option, and connectionist temporal
classification.
"""

from pellucid_compiler.catalogue.normalization import log_softmax
from pellucid_compiler.catalogue.real_only import require_real
from pellucid_compiler.composites import api
from pellucid_compiler.composites.losses import MEAN, NONE, SUM
from pellucid_compiler.declare import (
    INF,
    ask,
    cast,
    const,
    exp,
    fused,
    isinf,
    log,
    make,
    num_elements,
    require,
    reshape,
    scan,
    scan_op,
    tabulate,
    to,
    total,
    total_over,
    unsqueeze,
    where,
    with_partials,
)
from pellucid_compiler.ir.dtypes import HALF, is_integer

LABEL_MESSAGE = "Target {} is out of bounds."


def _nll_node(x, target, *rest):
    if target.is_floating:
        return "DivBackward1"
    return "NllLoss2DBackward0" if x.rank == 4 else "NllLossBackward0"


@fused(
    "cross_entropy_loss(Tensor self, Tensor target, Tensor? weight=None, "
    "int reduction=Mean, SymInt ignore_index=-100, float label_smoothing=0.0) "
    "-> Tensor",
    namespace="nn",
    method=False,
    out=False,
    node=_nll_node,
    autocast="float32",
    index_message=LABEL_MESSAGE,
)
def cross_entropy(x, target, weight, reduction, ignore_index, label_smoothing):
    """``-log softmax(x)[target]``; the class dim is 1, or 0 for a single sample.

    A floating-point target of x's shape holds the probabilities of the classes.
    """
    require(
        x.rank > 0, "cross_entropy: the input is a scalar; give at least (classes,)"
    )
    dim = min(x.rank - 1, 1)
    _require_target(x, target, weight, dim)
    require(
        label_smoothing >= 0,
        "cross_entropy: label_smoothing {} is negative",
        label_smoothing,
    )
    require(
        label_smoothing <= 1,
        "cross_entropy: label_smoothing {} is above 1",
        label_smoothing,
    )
    logp = log_softmax(x, dim)
    if target.is_floating:
        require(
            ignore_index < 0,
            "cross_entropy: ignore_index is {}, but the target holds probabilities and "
            "names no classes; leave it out",
            ignore_index,
        )
        loss, count = _with_probabilities(x, logp, target, weight, dim, label_smoothing)
    else:
        loss, count = _with_labels(
            x, logp, target, weight, dim, ignore_index, label_smoothing
        )
    return reduce_loss(loss, reduction, count)


@cross_entropy.seen_as
def _(x, target, weight, reduction, ignore_index, label_smoothing):
    if not x.is_floating_point():
        return NotImplemented
    dim, labels = min(x.dim() - 1, 1), not target.is_floating_point()
    if x.dim() not in (1, 2, 4) if labels else weight is not None or ignore_index >= 0:
        return NotImplemented
    if not labels and (x.dim() == 0 or target.shape != x.shape):
        return NotImplemented
    logarithms = api.ops.aten._log_softmax.default(x, dim, False)
    if not labels:
        if label_smoothing:
            target = api.ops.aten.mul.Scalar(target, 1 - label_smoothing)
            share = label_smoothing / x.shape[dim]
            target = api.ops.aten.add.Scalar(target, share)
        return _seen_of_probabilities(logarithms, target, reduction, dim)
    loss = _seen_as_forward(logarithms, target, weight, reduction, ignore_index)
    if not label_smoothing:
        return loss
    share = label_smoothing / x.shape[dim]
    even = _seen_of_all(logarithms, target, weight, reduction, ignore_index, dim)
    ops = api.ops.aten
    return ops.add.Tensor(
        ops.mul.Scalar(loss[0], 1 - label_smoothing), ops.mul.Scalar(even, share)
    )


def _seen_of_all(x, target, weight, reduction, ignore_index, dim):
    """Minus the sum over all classes, for targets that are not ignored."""
    shape = [1] * x.dim()
    shape[dim] = -1
    terms = x if weight is None else x * weight.view(shape)
    even = -terms.sum(dim)
    ignored = target == ignore_index
    even.masked_fill_(ignored, 0)
    if reduction == NONE:
        return even
    if reduction == SUM:
        return even.sum()
    if weight is None:
        return even.sum() / (~ignored).sum()
    counted = weight.gather(0, target.masked_fill(ignored, 0).flatten())
    counted.masked_fill_(ignored.flatten(), 0)
    return even.sum() / counted.sum()


@fused(
    "nll_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=Mean, "
    "SymInt ignore_index=-100) -> Tensor",
    refuses=("integers", "bool"),
    method=False,
    namespace="nn",
    node=_nll_node,
    autocast="float32",
    index_message=LABEL_MESSAGE,
    casts_out=False,
)
def nll_loss(x, target, weight, reduction, ignore_index):
    """``-x[target]`` for log-probabilities x; classes in dim 1, or 0 for one sample."""
    return nll_with_weight(x, target, weight, reduction, ignore_index)[0]


def _seen_as_forward(x, target, weight, reduction, ignore_index):
    if x.dim() not in (1, 2, 4):
        return NotImplemented
    ops = api.ops.aten
    forward = ops.nll_loss2d_forward if x.dim() == 4 else ops.nll_loss_forward
    return forward.default(x, target, weight, reduction, ignore_index)


def _seen_of_probabilities(x, target, reduction, dim):
    if reduction == NONE:
        return -(x * target).sum(dim)
    total = -(x * target).sum()
    count = x.numel() / max(x.shape[dim], 1)
    return total if reduction == SUM else api.ops.aten.div.Scalar(total, count)


nll_loss.seen_as(_seen_as_forward)


def nll_with_weight(x, target, weight, reduction, ignore_index):
    """(the loss, the sum of its weights)."""
    require_real("nll_loss", x)
    require(x.rank > 0, "nll_loss: the input is a scalar; give at least (classes,)")
    dim = min(x.rank - 1, 1)
    require(
        not target.is_floating,
        f"nll_loss: the target is {target.dtype}; give integer class labels",
    )
    _require_target(x, target, weight, dim)
    loss, count = _with_labels(x, x, target, weight, dim, ignore_index, const(0.0))
    return reduce_loss(loss, reduction, count), count


def reduce_loss(loss, reduction, count):
    """The sum, the sum over ``count``, or every element of ``loss``."""
    require(
        reduction in (NONE, MEAN, SUM),
        f"{reduction} is not a reduction: give {NONE} (none), {MEAN} (mean) or {SUM} "
        "(sum)",
        error=ValueError,
    )
    if reduction == NONE:
        return loss
    return total_over(loss) if reduction == SUM else total_over(loss) / count


def _require_target(x, target, weight, dim):
    require(
        target.is_floating or target.dtype in ("int64", "uint8"),
        f"cross_entropy: a target of labels has dtype int64 or uint8, not "
        f"{target.dtype}; convert with .long()",
    )
    places = x.rank if target.is_floating else x.rank - 1
    kind = "probabilities" if target.is_floating else "labels"
    require(
        target.rank == places,
        f"cross_entropy: a target of {kind} for an input of rank {x.rank} has rank "
        f"{places}, not {target.rank}",
    )
    sizes = x.shape if target.is_floating else [*x.shape[:dim], *x.shape[dim + 1 :]]
    for place, (size, expected) in enumerate(zip(target.shape, sizes, strict=True)):
        require(
            size == expected,
            "cross_entropy: the target has size {} where the input has {}",
            size,
            expected,
            error=RuntimeError if place else ValueError,
        )
    if weight is not None:
        require(weight.rank == 1, "cross_entropy: weight must be one number per class")
        require(
            weight.shape[0] == x.shape[dim],
            "cross_entropy: {} weights for {} classes",
            weight.shape[0],
            x.shape[dim],
        )


def _with_class(p, dim, c):
    return (*p[:dim], c, *p[dim:])


def _with_probabilities(x, logp, target, weight, dim, label_smoothing):
    classes, places = x.shape[dim], [n for d, n in enumerate(x.shape) if d != dim]
    smooth = ask(label_smoothing > 0)

    def term(p, c):
        place = _with_class(p, dim, c)
        wanted = target[place]
        if smooth:
            wanted = wanted * (1 - label_smoothing) + label_smoothing / classes
        weighted = wanted if weight is None else wanted * weight[c]
        return -(weighted * logp[place])

    loss = tabulate(places, lambda *p: total([classes], lambda c: term(p, c)))
    return loss, cast(num_elements(loss), x.dtype)


def _with_labels(x, logp, target, weight, dim, ignore_index, label_smoothing):
    classes, places = x.shape[dim], target.shape

    def weighted(c, value):
        return value if weight is None else weight[c] * value

    def used(p, value):
        return where(target[p] == ignore_index, cast(0, x.dtype), value)

    def picked(*p):
        label = target[p]
        return used(p, -weighted(label, logp[_with_class(p, dim, label)]))

    loss = tabulate(places, picked)
    if ask(label_smoothing > 0):
        spread = tabulate(
            places,
            lambda *p: total(
                [classes], lambda c: used(p, -weighted(c, logp[_with_class(p, dim, c)]))
            ),
        )
        loss = loss * (1 - label_smoothing) + spread * (label_smoothing / classes)
    one = const(1, x.dtype)
    counted = tabulate(places, lambda *p: used(p, weighted(target[p], one)))
    return loss, total_over(counted)


@scan_op(
    "ctc_loss.Tensor(Tensor log_probs, Tensor targets, Tensor input_lengths, "
    "Tensor target_lengths, int blank=0, int reduction=Mean, "
    "bool zero_infinity=False) -> Tensor",
    refuses=(*HALF, "integers", "bool"),
    method=False,
    out=False,
    symbolic=("blank",),
    autocast="float32",
)
def ctc_loss(
    log_probs, targets, input_lengths, target_lengths, blank, reduction, zero_infinity
):
    """The forward recurrence over labels with blanks between them (Graves 2006).

    ``targets`` is (batch, labels), or the concatenated labels of all samples;
    ``log_probs`` without a batch is (time, classes).
    """
    require(
        log_probs.rank in (2, 3) and targets.rank in (1, 2),
        f"ctc_loss: log_probs of rank {log_probs.rank} and targets of rank "
        f"{targets.rank}; give (time, batch, classes) and (batch, labels) or (labels,)",
    )
    is_single = log_probs.rank == 2
    if is_single:
        log_probs = unsqueeze(log_probs, 1)
        targets = targets if targets.rank == 2 else unsqueeze(targets, 0)
    time, batch, classes = log_probs.shape
    require(
        (blank >= 0) & (blank < classes),
        "ctc_loss: blank is {}, and the classes are {}",
        blank,
        classes,
    )
    require(
        targets.rank == 1 or targets.shape[0] == batch,
        "ctc_loss: {} rows of targets for a batch of {}",
        targets.shape[0],
        batch,
    )
    targets = to(targets, "int64")
    input_lengths = _lengths("input_lengths", input_lengths, batch)
    target_lengths = _lengths("target_lengths", target_lengths, batch)
    num_labels = tabulate([], lambda: total([batch], lambda n: target_lengths[n]))
    states = 2 * targets.shape[-1] + 1
    label = _labels(targets, target_lengths, batch, blank)
    emitted = tabulate(
        [time, batch, states], lambda t, n, s: log_probs[t, n, label(n, s)]
    )
    skips = tabulate(
        [time, batch, states],
        lambda t, n, s: where(
            (s % 2 == 1) & (s > 1), label(n, s) != label(n, s - 2), False
        ),
    )
    start = tabulate(
        [batch, states], lambda n, s: cast(where(s == 0, 0.0, -INF), log_probs.dtype)
    )

    def step(alpha, emitted_t, skips_t):
        before = alpha.outside(-INF)

        def path(n, s):
            skipped = where(skips_t[n, s], before[n, s - 2], -INF)
            return log_add(before[n, s], before[n, s - 1], skipped) + emitted_t[n, s]

        return tabulate(alpha.shape, path)

    alpha = scan(step, start, [emitted, skips])
    ends = alpha.outside(-INF)

    def loss_of(n):
        steps, labels = input_lengths[n], target_lengths[n]
        _require_between("input_lengths", steps, time, "steps of log_probs")
        _require_between("target_lengths", labels, targets.shape[-1], "targets")
        if targets.rank == 1:
            require(
                num_labels[()] == targets.shape[0],
                "ctc_loss: the sum of target_lengths is not the number of targets",
            )
        last, count = steps - 1, 2 * labels
        likelihood = log_add(ends[last, n, count], ends[last, n, count - 1])
        return -where((steps == 0) & (labels == 0), 0.0, likelihood)

    loss = tabulate([batch], loss_of)
    if zero_infinity:
        loss = where(isinf(loss), 0.0, loss)
    if reduction == MEAN:
        lengths = tabulate([batch], lambda n: make("maximum", target_lengths[n], 1))
        loss = loss / tabulate([batch], lambda n: cast(lengths[n], loss.dtype))
    if is_single and reduction == NONE:
        return tabulate([], lambda: loss[0])
    return reduce_loss(loss, reduction, cast(batch, loss.dtype))


def _lengths(name, lengths, batch):
    """The lengths as a vector of int64."""
    require(
        is_integer(lengths.dtype),
        f"ctc_loss: {name} has dtype {lengths.dtype}; give integers",
    )
    flat = reshape(lengths, [num_elements(lengths)])
    require(
        flat.shape[0] == batch,
        f"ctc_loss: {name} has {{}} elements for a batch of {{}}; give one for each",
        flat.shape[0],
        batch,
    )
    return to(flat, "int64")


def _require_between(name, length, limit, of):
    require(
        (length >= 0) & (length <= limit),
        f"ctc_loss: {name} has a number below 0 or above the number of {of}",
    )


def _labels(targets, target_lengths, batch, blank):
    """state -> label: blanks at even states. Rows of targets may be padded with any
    number.
    """
    if targets.rank == 2:
        padded = targets.outside(0)

        def label(n, s):
            is_label = (s % 2 == 1) & (s // 2 < target_lengths[n])
            return where(is_label, padded[n, s // 2], blank)

        return label
    before = tabulate(
        [batch],
        lambda n: total([batch], lambda m: where(m < n, target_lengths[m], 0)),
    )
    flat = targets.outside(0)
    return lambda n, s: where(s % 2 == 1, flat[before[n] + s // 2], blank)


@ctc_loss.vjp(
    "PyTorch's gradient is not the derivative: it assumes normalised log_probs"
)
def _(
    log_probs,
    targets,
    input_lengths,
    target_lengths,
    blank,
    reduction,
    zero_infinity,
    loss,
    grad,
    derived,
):
    found = derived(grad)
    d, *of_targets = found if isinstance(found, tuple) else (found,)
    d = d - exp(log_probs) * total_over(d, d.rank - 1, keepdim=True)
    return (d, *of_targets) if of_targets else d


def log_add(*xs):
    """``log sum exp`` of scalars; its slopes are ``exp(x - y)``, zero where all
    are -inf.
    """
    top = xs[0]
    for x in xs[1:]:
        top = make("maximum", top, x)
    safe = where(top == -INF, 0.0, top)
    parts = [exp(x - safe) for x in xs]
    value = where(top == -INF, -INF, log(sum(parts[1:], start=parts[0])) + safe)

    def slopes(*args):
        *operands, y = args
        return tuple(where(y == -INF, 0.0, exp(x - y)) for x in operands)

    return with_partials(value, xs, slopes)
