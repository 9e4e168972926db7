"""``PipelineStage``: a process's part of a model, and its communication."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pellucid as torch
import pellucid.distributed as dist
from pellucid import nn
from pellucid.distributed.pipelining.halves import input_half

__all__ = ["PipelineStage"]

_Facts = tuple[tuple[int, ...], Any, bool]  # shape, dtype, whether it has a gradient


class PipelineStage:
    """Stage ``stage_index`` of ``num_stages``. The schedule places stages on ranks:
    most place r, r + size, r + 2 * size, ... on rank r.

    The first stage gets the inputs of ``schedule.step``, the others the outputs of the
    previous stage. Shapes are determined by the first microbatch, so examples of inputs
    and outputs are not needed. ``dw_builder`` is called after a backward without
    gradients of weights, and returns the function that computes them.
    """

    def __init__(
        self,
        submodule: nn.Module,
        stage_index: int,
        num_stages: int,
        device: Any = None,
        input_args: Any = None,
        output_args: Any = None,
        output_grads: Any = None,
        input_grads: Any = None,
        group: Any = None,
        dw_builder: Callable[[], Callable[..., None]] | None = None,
    ) -> None:
        if not 0 <= stage_index < num_stages:
            raise ValueError(
                f"Stage index {stage_index} is out of range of {num_stages}"
            )
        self.submod, self.stage_index = submodule, stage_index
        self.num_stages, self.group, self.device = num_stages, group, device
        self.dw_builder = dw_builder
        self.group_size, self.group_rank = (
            dist.get_world_size(group),
            dist.get_rank(group),
        )
        self._facts: list[_Facts] | None = None  # of received tensors
        self._has_told = False
        self._runs: dict[int, tuple[list[Any], list[Any]]] = {}
        self._weight_halves: dict[int, Callable[[], None]] = {}
        self._sent: list[tuple[Any, Any]] = []
        self.stage_index_to_group_rank: dict[int, int] = {}
        # Tensors passed between stages of this process: (from, to, microbatch).
        self._given: dict[tuple[int, int, int], list[Any]] = {}

    @property
    def is_first(self) -> bool:
        """Whether this is the first stage."""
        return self.stage_index == 0

    @property
    def is_last(self) -> bool:
        """Whether this is the last stage."""
        return self.stage_index == self.num_stages - 1

    def begin(self) -> None:
        """Prepares a step, whose shapes may be new."""
        self._facts, self._has_told = None, False

    def join(self, ranks: dict[int, int], stages: list[PipelineStage]) -> None:
        """Receives from a schedule the rank of each stage, and the stages of this
        process.
        """
        self.stage_index_to_group_rank = ranks
        self._given = stages[0]._given

    def _is_here(self, step: int) -> bool:
        """Whether the stage after (1) or before (-1) runs in this process."""
        ranks = self.stage_index_to_group_rank
        return ranks[self.stage_index + step] == self.group_rank

    def _send(self, tensors: list[Any], step: int, number: int) -> None:
        other = self.stage_index + step
        if self._is_here(step):
            self._given[self.stage_index, other, number] = [
                x.detach().requires_grad_(x.requires_grad) for x in tensors
            ]
            return
        peer, tag = self.stage_index_to_group_rank[other], self._tag(step)
        for tensor in tensors:
            sent = tensor.detach().contiguous()
            work = dist.isend(sent, group=self.group, group_dst=peer, tag=tag)
            self._sent.append((work, sent))

    def _tag(self, step: int, *, sends: bool = True) -> int:
        """The tag of messages between two stages: ranks have several stages."""
        source = self.stage_index if sends else self.stage_index + step
        return 1 + 2 * source + ((step > 0) is sends)

    def _receive(self, facts: list[_Facts], step: int, number: int) -> list[Any]:
        other = self.stage_index + step
        if self._is_here(step):
            return self._given.pop((other, self.stage_index, number))
        found = [torch.empty(shape, dtype=dtype) for shape, dtype, _ in facts]
        peer, tag = self.stage_index_to_group_rank[other], self._tag(step, sends=False)
        for tensor, (_, _, has_gradient) in zip(found, facts, strict=True):
            dist.recv(tensor, group=self.group, group_src=peer, tag=tag)
            tensor.requires_grad_(has_gradient)
        return found

    def _tell_shapes(self, outputs: list[Any]) -> None:
        """Sends shapes and dtypes to the next stage, once per step."""
        if self._has_told or self._is_here(1):
            return
        facts = [(tuple(x.shape), x.dtype, x.requires_grad) for x in outputs]
        target = self.stage_index_to_group_rank[self.stage_index + 1]
        dist.send_object_list([facts], group=self.group, group_dst=target)
        self._has_told = True

    def _shapes(self) -> list[_Facts]:
        """Receives shapes and dtypes from the previous stage."""
        if self._is_here(-1):
            return []
        if self._facts is None:
            listed = [None]
            source = self.stage_index_to_group_rank[self.stage_index - 1]
            dist.recv_object_list(listed, group=self.group, group_src=source)
            self._facts = listed[0]
        assert self._facts is not None
        return self._facts

    def forward(self, number: int, args: Any, kwargs: Any) -> Any:
        """Runs a microbatch forward; returns its output."""
        inputs = list(args)
        if not self.is_first:
            inputs = self._receive(self._shapes(), -1, number)
        output = self.submod(*inputs, **kwargs)
        outputs = list(output) if isinstance(output, (tuple, list)) else [output]
        if not self.is_last:
            self._tell_shapes(outputs)
            self._send(outputs, 1, number)
        if torch.is_grad_enabled():
            self._runs[number] = inputs, outputs
        return output

    def backward(self, number: int, loss: Any = None) -> None:
        """Runs a microbatch backward, from its loss or from received gradients."""
        inputs, roots, gradients = self._backward_starts(number, loss)
        torch.autograd.backward(roots, gradients)
        self._send_gradients(inputs, number)
        if self.dw_builder is not None:
            self.dw_builder()()

    def backward_input(self, number: int, loss: Any = None) -> None:
        """The first half of ``backward``, for which the previous stage waits."""
        inputs, roots, gradients = self._backward_starts(number, loss)
        if self.dw_builder is not None:
            torch.autograd.backward(roots, gradients)
            self._weight_halves[number] = self.dw_builder()
        else:
            wanted = [x for x in inputs if x.requires_grad]
            self._weight_halves[number] = input_half(roots, gradients, wanted)
        self._send_gradients(inputs, number)

    def backward_weight(self, number: int) -> None:
        """The other half: the gradients of the parameters."""
        self._weight_halves.pop(number)()

    def _backward_starts(
        self, number: int, loss: Any
    ) -> tuple[list[Any], list[Any], list[Any] | None]:
        """A microbatch's inputs, and backward's roots with their gradients."""
        inputs, outputs = self._runs.pop(number)
        if loss is not None:
            return inputs, [loss], None
        moving = [x for x in outputs if x.requires_grad]
        facts = [(tuple(x.shape), x.dtype, False) for x in moving]
        return inputs, moving, self._receive(facts, 1, number)

    def _send_gradients(self, inputs: list[Any], number: int) -> None:
        if not self.is_first:
            wanted = [x for x in inputs if x.requires_grad]
            grads = [torch.zeros_like(x) if x.grad is None else x.grad for x in wanted]
            self._send(grads, -1, number)

    def finish(self, divisor: int) -> None:
        """Waits for sends, and divides the gradients by the number of microbatches."""
        for work, _ in self._sent:
            work.wait()
        self._sent = []
        if divisor > 1:
            with torch.no_grad():
                for parameter in self.submod.parameters():
                    if parameter.grad is not None:
                        parameter.grad.div_(divisor)
