"""Steps of the less common optimizers, each as one op on lists of tensors.

foreach.py explains the bodies and has SGD and Adam.
"""

from pellucid_compiler.declare import foreach, make, maximum, minimum, sign, sqrt, where


def _direction(grad, param, weight_decay, maximize):
    return (-grad if maximize else grad) + param * weight_decay


@foreach(
    "pellucid::_fused_rmsprop_(Tensor(a!)[] self, Tensor[] grads, Tensor(b!)[] "
    "square_avgs, "
    "Tensor(c!)[] momentum_buffers, Tensor(d!)[] grad_avgs, *, float lr, float alpha, "
    "float eps, float weight_decay, float momentum, bool maximize) -> ()",
    optional_lists=("momentum_buffers", "grad_avgs"),
)
def fused_rmsprop(
    param, grad, square, buffer, average, lr, alpha, eps, weight_decay, momentum,
    maximize,
):  # fmt: skip
    """The gradient over the root of its mean square (Hinton 2012; centered: Graves
    2013).
    """
    grad = _direction(grad, param, weight_decay, maximize)
    square = square * alpha + grad * grad * (1 - alpha)
    buffers = [square]
    spread = square
    if average is not None:
        average = average + (grad - average) * (1 - alpha)
        spread = square - average * average
    step = grad / (sqrt(spread) + eps)
    if buffer is not None:
        step = buffer = buffer * momentum + step
        buffers.append(buffer)
    if average is not None:
        buffers.append(average)
    return (param - step * lr, *buffers)


@foreach(
    "_fused_adagrad_(Tensor(a!)[] self, Tensor[] grads, Tensor(b!)[] state_sums, "
    "Tensor[] state_steps, *, float lr, float lr_decay, float weight_decay, float eps, "
    "bool maximize) -> ()",
    numbers=("state_steps",),
)
def fused_adagrad(param, grad, total, step, lr, lr_decay, weight_decay, eps, maximize):
    """The gradient over the root of the sum of its squares (Duchi 2011)."""
    grad = _direction(grad, param, weight_decay, maximize)
    total = total + grad * grad
    rate = lr / (1 + (step - 1) * lr_decay)
    return param - grad / (sqrt(total) + eps) * rate, total


@foreach(
    "pellucid::_fused_adadelta_(Tensor(a!)[] self, Tensor[] grads, Tensor(b!)[] "
    "square_avgs, "
    "Tensor(c!)[] acc_deltas, *, float lr, float rho, float eps, float weight_decay, "
    "bool maximize) -> ()"
)
def fused_adadelta(param, grad, square, moved, lr, rho, eps, weight_decay, maximize):
    """Steps in the units of the parameter (Zeiler 2012)."""
    grad = _direction(grad, param, weight_decay, maximize)
    square = square * rho + grad * grad * (1 - rho)
    delta = sqrt(moved + eps) / sqrt(square + eps) * grad
    moved = moved * rho + delta * delta * (1 - rho)
    return param - delta * lr, square, moved


@foreach(
    "pellucid::_fused_adamax_(Tensor(a!)[] self, Tensor[] grads, Tensor(b!)[] "
    "exp_avgs, "
    "Tensor(c!)[] exp_infs, Tensor[] state_steps, *, float lr, float beta1, "
    "float beta2, float eps, float weight_decay, bool maximize) -> ()",
    numbers=("state_steps",),
)
def fused_adamax(
    param, grad, mean, greatest, step, lr, beta1, beta2, eps, weight_decay, maximize
):
    """Adam with the infinity norm (Kingma 2015)."""
    grad = _direction(grad, param, weight_decay, maximize)
    mean = mean + (grad - mean) * (1 - beta1)
    greatest = maximum(greatest * beta2, abs(grad) + eps)
    rate = lr / (1 - make("pow", beta1, step))
    return param - mean / greatest * rate, mean, greatest


@foreach(
    "pellucid::_fused_nadam_(Tensor(a!)[] self, Tensor[] grads, Tensor(b!)[] exp_avgs, "
    "Tensor(c!)[] exp_avg_sqs, Tensor[] mu_products, Tensor[] state_steps, *, "
    "float lr, float beta1, float beta2, float weight_decay, float momentum_decay, "
    "float eps, bool decoupled_weight_decay, bool maximize) -> ()",
    numbers=("mu_products", "state_steps"),
)
def fused_nadam(
    param, grad, mean, square, mu_product, step, lr, beta1, beta2, weight_decay,
    momentum_decay, eps, decoupled_weight_decay, maximize,
):  # fmt: skip
    """Adam with Nesterov momentum (Dozat 2016). ``mu_products`` hold the product of
    the momenta up to this step.
    """
    grad = -grad if maximize else grad
    if decoupled_weight_decay:
        param = param * (1 - lr * weight_decay)
    else:
        grad = grad + param * weight_decay
    mean = mean + (grad - mean) * (1 - beta1)
    square = square * beta2 + grad * grad * (1 - beta2)

    def momentum(at):
        return beta1 * (1 - 0.5 * make("pow", 0.96, at * momentum_decay))

    now, following = momentum(step), momentum(step + 1)
    denominator = sqrt(square / (1 - make("pow", beta2, step))) + eps
    param = param - grad / denominator * (lr * (1 - now) / (1 - mu_product))
    rate = lr * following / (1 - mu_product * following)
    return param - mean / denominator * rate, mean, square


@foreach(
    "pellucid::_fused_radam_(Tensor(a!)[] self, Tensor[] grads, Tensor(b!)[] exp_avgs, "
    "Tensor(c!)[] exp_avg_sqs, Tensor[] state_steps, *, float lr, float beta1, "
    "float beta2, float weight_decay, float eps, bool decoupled_weight_decay, "
    "bool maximize) -> ()",
    numbers=("state_steps",),
)
def fused_radam(
    param, grad, mean, square, step, lr, beta1, beta2, weight_decay, eps,
    decoupled_weight_decay, maximize,
):  # fmt: skip
    """Adam that is not adaptive until its variance can be estimated (Liu 2020)."""
    grad = -grad if maximize else grad
    if decoupled_weight_decay:
        param = param * (1 - lr * weight_decay)
    else:
        grad = grad + param * weight_decay
    mean = mean + (grad - mean) * (1 - beta1)
    square = square * beta2 + grad * grad * (1 - beta2)
    corrected = mean / (1 - make("pow", beta1, step))
    power = make("pow", beta2, step)
    rho_inf = 2 / (1 - beta2) - 1
    rho = rho_inf - 2 * step * power / (1 - power)
    known = rho > 5
    above = (rho - 4) * (rho - 2) * rho_inf
    below = (rho_inf - 4) * (rho_inf - 2) * rho
    rectified = make("sqrt", where(known, above / below, 1.0))
    adaptive = make("sqrt", 1 - power) / (sqrt(square) + eps)
    factor = where(known, adaptive * rectified, 1.0)
    return param - corrected * lr * factor, mean, square


@foreach(
    "pellucid::_fused_asgd_(Tensor(a!)[] self, Tensor[] grads, Tensor(b!)[] axs, "
    "Tensor[] mus, Tensor[] etas, *, float lambd, float weight_decay, bool maximize) "
    "-> ()",
    numbers=("mus", "etas"),
)
def fused_asgd(param, grad, average, mu, eta, lambd, weight_decay, maximize):
    """Averaged stochastic gradient descent (Polyak 1992)."""
    grad = _direction(grad, param, weight_decay, maximize)
    param = param * (1 - lambd * eta) - grad * eta
    return param, where(mu == 1, param, average + (param - average) * mu)


@foreach(
    "pellucid::_fused_rprop_(Tensor(a!)[] self, Tensor[] grads, Tensor(b!)[] prevs, "
    "Tensor(c!)[] step_sizes, *, float etaminus, float etaplus, float step_size_min, "
    "float step_size_max, bool maximize) -> ()"
)
def fused_rprop(
    param, grad, before, size, etaminus, etaplus, step_size_min, step_size_max, maximize
):
    """Step sizes per element, adapted by the sign of the gradient (Riedmiller 1993)."""
    grad = -grad if maximize else grad
    agreement = grad * before
    factor = where(agreement > 0, etaplus, where(agreement < 0, etaminus, 1.0))
    size = minimum(maximum(size * factor, step_size_min), step_size_max)
    grad = where(agreement < 0, grad * 0, grad)
    return param - sign(grad) * size, grad, size
