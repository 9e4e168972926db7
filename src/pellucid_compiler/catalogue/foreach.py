"""Optimizer steps as ops on lists of tensors: one kernel per dtype, no Python per
tensor.

A body is written for one element of each list. Its results are the new values of the
arguments that the schema marks as written, in their order.
"""

from pellucid_compiler.declare import foreach, make, require, sqrt, where


@foreach(
    "_fused_sgd_(Tensor(a!)[] self, Tensor(b!)[] grads, "
    "Tensor(c!)[] momentum_buffer_list, *, float weight_decay, float momentum, "
    "float lr, float dampening, bool nesterov, bool maximize, bool is_first_step, "
    "Tensor? grad_scale=None, Tensor? found_inf=None) -> ()",
    optional_lists=("momentum_buffer_list",),
)
def fused_sgd(
    param,
    grad,
    buffer,
    weight_decay,
    momentum,
    lr,
    dampening,
    nesterov,
    maximize,
    is_first_step,
    grad_scale,
    found_inf,
):
    """Stochastic gradient descent with (Nesterov) momentum (Sutskever 2013)."""
    direction = (-grad if maximize else grad) + param * weight_decay
    if buffer is None:
        return param - direction * lr, grad
    if is_first_step:
        buffer = direction
    else:
        buffer = buffer * momentum + direction * (1 - dampening)
    step = direction + buffer * momentum if nesterov else buffer
    return param - step * lr, grad, buffer


def adam_step(
    param,
    grad,
    first,
    second,
    greatest,
    step,
    lr,
    beta1,
    beta2,
    weight_decay,
    eps,
    decoupled,
):
    """One step of Adam for an element (Kingma 2015; AMSGrad: Reddi 2018)."""
    if decoupled:
        param = param - param * (lr * weight_decay)
    else:
        grad = grad + param * weight_decay
    first = first + (grad - first) * (1 - beta1)
    second = second * beta2 + grad * grad * (1 - beta2)
    correction1 = 1 - make("pow", beta1, step)
    correction2 = 1 - make("pow", beta2, step)
    spread = second
    if greatest is not None:
        greatest = spread = where(greatest < second, second, greatest)
    denominator = sqrt(spread) / make("sqrt", correction2) + eps
    return param - first / denominator * (lr / correction1), first, second, greatest


ADAM = (
    "(Tensor(a!)[] self, Tensor(b!)[] grads, Tensor(c!)[] exp_avgs, "
    "Tensor(d!)[] exp_avg_sqs, Tensor(e!)[] max_exp_avg_sqs, Tensor[] state_steps, *, "
    "float lr, float beta1, float beta2, float weight_decay, float eps, bool amsgrad, "
    "bool maximize, Tensor? grad_scale=None, Tensor? found_inf=None) -> ()"
)


def _adam(decoupled):
    def body(
        param,
        grad,
        first,
        second,
        greatest,
        step,
        lr,
        beta1,
        beta2,
        weight_decay,
        eps,
        amsgrad,
        maximize,
        grad_scale,
        found_inf,
    ):
        require(
            greatest is not None or not amsgrad,
            "amsgrad needs max_exp_avg_sqs, which is empty",
        )
        gradient = -grad if maximize else grad
        new = adam_step(
            param,
            gradient,
            first,
            second,
            greatest if amsgrad else None,
            step,
            lr,
            beta1,
            beta2,
            weight_decay,
            eps,
            decoupled,
        )
        updated = (new[0], grad, new[1], new[2])
        if greatest is None:
            return updated
        return (*updated, new[3] if amsgrad else greatest)

    body.__doc__ = (
        "Adam with decoupled weight decay (Loshchilov 2019)."
        if decoupled
        else "Adam (Kingma 2015), with ``amsgrad`` by the greatest second moment."
    )
    return body


_LISTS = {"numbers": ("state_steps",), "optional_lists": ("max_exp_avg_sqs",)}
fused_adam = foreach("_fused_adam_" + ADAM, **_LISTS)(_adam(False))
fused_adamw = foreach("_fused_adamw_" + ADAM, **_LISTS)(_adam(True))
