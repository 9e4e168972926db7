"""Adaptive softmax: rare classes in clusters with smaller projections."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import pellucid
from pellucid import Tensor
from pellucid.nn import functional
from pellucid.nn.modules.container import ModuleList, Sequential
from pellucid.nn.modules.linear import Linear
from pellucid.nn.modules.module import Module


class _ASMoutput(NamedTuple):
    output: Tensor
    loss: Tensor


class AdaptiveLogSoftmaxWithLoss(Module):
    """Log probabilities of many classes, sorted by frequency (Grave 2017).

    The classes below ``cutoffs[0]`` are in the head; those between two cutoffs form
    a cluster, whose projection is ``div_value`` times smaller than the previous one's.
    """

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        cuts = list(cutoffs)
        if not cuts:
            raise ValueError("cutoffs is empty: give at least one")
        rising = cuts == sorted(set(cuts)) and cuts[0] > 0 and cuts[-1] < n_classes
        if not rising or any(int(c) != c for c in cuts):
            raise ValueError(
                f"cutoffs {cuts} must be distinct, increasing, positive ints below "
                f"n_classes - 1 = {n_classes - 1}"
            )
        options = {"device": device, "dtype": dtype}
        self.in_features = in_features
        self.n_classes = n_classes
        self.cutoffs = [*cuts, n_classes]
        self.div_value = div_value
        self.head_bias = head_bias
        self.shortlist_size = cuts[0]
        self.n_clusters = len(cuts)
        self.head_size = self.shortlist_size + self.n_clusters
        self.head = Linear(in_features, self.head_size, bias=head_bias, **options)
        self.tail = ModuleList()
        for k in range(self.n_clusters):
            hidden = int(in_features // div_value ** (k + 1))
            size = self.cutoffs[k + 1] - self.cutoffs[k]
            first = Linear(in_features, hidden, bias=False, **options)
            second = Linear(hidden, size, bias=False, **options)
            self.tail.append(Sequential(first, second))

    def reset_parameters(self) -> None:
        """Reinitialises all weights."""
        self.head.reset_parameters()
        for first, second in self.tail:
            first.reset_parameters()
            second.reset_parameters()

    def forward(self, input_: Tensor, target_: Tensor) -> _ASMoutput:
        """(log probability of each target, mean loss)."""
        batched = target_.dim() > 0
        if not batched:
            input_, target_ = input_.unsqueeze(0), target_.unsqueeze(0)
        if input_.size(0) != target_.size(0):
            raise RuntimeError(f"{input_.size(0)} inputs for {target_.size(0)} targets")
        low, high = int(target_.min()), int(target_.max())
        if low < 0 or high >= self.n_classes:
            raise RuntimeError(
                f"targets must be between 0 and {self.n_classes - 1}; these are from "
                f"{low} to {high}"
            )
        head = functional.log_softmax(self.head(input_), dim=1)
        places = target_.clamp(max=self.shortlist_size - 1)
        output = head.gather(1, places.unsqueeze(1)).squeeze(1)
        for k, cluster in enumerate(self.tail):
            first, last = self.cutoffs[k], self.cutoffs[k + 1]
            rows = ((target_ >= first) & (target_ < last)).nonzero().squeeze(1)
            if not rows.numel():
                continue
            inside = functional.log_softmax(cluster(input_[rows]), dim=1)
            local = inside.gather(1, (target_[rows] - first).unsqueeze(1)).squeeze(1)
            output = output.index_copy(
                0, rows, local + head[rows, self.shortlist_size + k]
            )
        loss = (-output).mean()
        return _ASMoutput(output if batched else output.squeeze(0), loss)

    def log_prob(self, input: Tensor) -> Tensor:
        """The log probabilities (N, n_classes) of all classes."""
        head = functional.log_softmax(self.head(input), dim=1)
        parts = [head[:, : self.shortlist_size]]
        for k, cluster in enumerate(self.tail):
            inside = functional.log_softmax(cluster(input), dim=1)
            parts.append(inside + head[:, self.shortlist_size + k].unsqueeze(1))
        return pellucid.cat(parts, 1)

    def predict(self, input: Tensor) -> Tensor:
        """The most probable class of each input."""
        return self.log_prob(input).argmax(1)
