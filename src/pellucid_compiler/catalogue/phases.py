"""Transposed convolutions of stride 2, and gradients of such convolutions' images, as
convolutions of stride 1.

In a dim of stride 2, the even and the odd places of the result depend on different
taps, so each of these two phases is a convolution with every other tap. No product is
stored that is not an element of the result, as there is if products are scattered.
"""

from itertools import product

from pellucid_compiler.declare import ask, scatter, tabulate, total

_FEWEST_SUMS = 8  # channels of the result that are worth a product for each phase


def has_phases(channels, kernel, steps, dilation):
    """Whether `by_phases` computes a result of so many ``channels``: a phase without
    taps would only write zeros. ``steps``: each stride if it is known to be 1 or 2,
    else None.
    """
    if None in steps or 2 not in steps:
        return False
    sizes = zip(kernel, steps, dilation, strict=True)
    moved = [(t > 1) & (e == 1) for t, s, e in sizes if s == 2]
    return all([ask(m) for m in moved]) and ask(channels >= _FEWEST_SUMS)


def known_steps(stride):
    """1 or 2 for each stride that has this value, else None."""
    return [1 if ask(s == 1) else 2 if ask(s == 2) else None for s in stride]


def by_phases(x, weight, size, steps, padding, dilation):
    """The sums of ``x[p] * weight[t]`` at places ``p * step + t * dilation - padding``
    below ``size``, from ``x`` (n, groups, c, \\*places) and ``weight``
    (groups, c, o, \\*taps).
    """
    dims = range(len(size))
    shape = [x.shape[0], x.shape[1], weight.shape[2], *size]
    y = None
    for phase in product(*(range(s) for s in steps)):
        ends = [phase[d] + padding[d] for d in dims]
        first = [ends[d] % s if s > 1 else 0 for d, s in enumerate(steps)]
        start = [ends[d] // s if s > 1 else ends[d] for d, s in enumerate(steps)]
        taps = [(weight.shape[3 + d] - first[d] + s - 1) // s
                for d, s in enumerate(steps)]  # fmt: skip
        count = [(size[d] - phase[d] + s - 1) // s for d, s in enumerate(steps)]

        def element(n, g, o, *p, first=first, start=start, taps=taps):
            def term(c, *t):
                turns = [t[d] if s > 1 else t[d] * dilation[d]
                         for d, s in enumerate(steps)]  # fmt: skip
                place = [p[d] + start[d] - turns[d] for d in dims]
                tap = [first[d] + t[d] * s for d, s in enumerate(steps)]
                return x.outside(0)[[n, g, c, *place]] * weight[[g, c, o, *tap]]

            return total([x.shape[2], *taps], term)

        part = tabulate([*shape[:3], *count], element)

        def store(n, g, o, *p, phase=phase, part=part):
            place = [p[d] * s + phase[d] for d, s in enumerate(steps)]
            return [n, g, o, *place], part[[n, g, o, *p]]

        y = scatter(shape, part.shape, store, combine="assign", into=y)
    return y
