"""``PipelineStage``: a process's part of a model, and what it exchanges."""

from __future__ import annotations

from typing import Any

import pellucid as torch
import pellucid.distributed as dist
from pellucid import nn

__all__ = ["PipelineStage"]


class PipelineStage:
    """Stage ``stage_index`` of ``num_stages``, a multiple of the group's size: rank r
    runs the stages r, r + size, r + 2 * size, ...

    The first stage gets the inputs of ``schedule.step``, the others the outputs of the
    stage before. Shapes are found when the first microbatch runs.
    """

    def __init__(
        self,
        submodule: nn.Module,
        stage_index: int,
        num_stages: int,
        device: Any = None,
        input_args: Any = None,
        output_args: Any = None,
        group: Any = None,
    ) -> None:
        if not 0 <= stage_index < num_stages:
            raise ValueError(
                f"Stage index {stage_index} is out of range of {num_stages}"
            )
        size = dist.get_world_size(group)
        if num_stages % size or stage_index % size != dist.get_rank(group):
            raise ValueError(
                f"stage {stage_index} of {num_stages} cannot run on rank "
                f"{dist.get_rank(group)} of {size}: give each rank r the stages r, "
                f"r + {size}, ..., as many as the others"
            )
        if size == 1 < num_stages:
            raise ValueError(f"{num_stages} stages need more than one process")
        self._group_size = size
        self.submod, self.stage_index = submodule, stage_index
        self.num_stages, self.group = num_stages, group
        self._facts: list[Any] | None = None  # (shape, dtype) of what is received
        self._has_told = False
        self._runs: dict[int, tuple[list[Any], list[Any]]] = {}
        self._sent: list[tuple[Any, Any]] = []

    @property
    def is_first(self) -> bool:
        """Whether it gets the inputs."""
        return self.stage_index == 0

    @property
    def is_last(self) -> bool:
        """Whether it gives the outputs."""
        return self.stage_index == self.num_stages - 1

    def begin(self) -> None:
        """Before the microbatches of a step, whose shapes may be new."""
        self._facts, self._has_told = None, False

    def _send(self, tensors: list[Any], step: int) -> None:
        peer, tag = (self.stage_index + step) % self._group_size, self._tag(step)
        for tensor in tensors:
            sent = tensor.detach().contiguous()
            work = dist.isend(sent, group=self.group, group_dst=peer, tag=tag)
            self._sent.append((work, sent))

    def _tag(self, step: int, *, sends: bool = True) -> int:
        """Of what two neighbours send each other: ranks have several stages."""
        source = self.stage_index if sends else self.stage_index + step
        return 1 + 2 * source + ((step > 0) is sends)

    def _receive(self, facts: list[Any], step: int) -> list[Any]:
        found = [torch.empty(shape, dtype=dtype) for shape, dtype in facts]
        peer = (self.stage_index + step) % self._group_size
        tag = self._tag(step, sends=False)
        for tensor in found:
            dist.recv(tensor, group=self.group, group_src=peer, tag=tag)
        return found

    def _shapes(self) -> list[Any]:
        if self._facts is None:
            listed = [None]
            source = (self.stage_index - 1) % self._group_size
            dist.recv_object_list(listed, group=self.group, group_src=source)
            self._facts = listed[0]
        assert self._facts is not None
        return self._facts

    def forward(self, number: int, args: Any, kwargs: Any) -> Any:
        """Runs a microbatch; its output."""
        inputs = list(args)
        if not self.is_first:
            inputs = self._receive(self._shapes(), -1)
            for tensor in inputs:
                is_differentiable = tensor.is_floating_point()
                tensor.requires_grad_(is_differentiable and torch.is_grad_enabled())
        output = self.submod(*inputs, **kwargs)
        outputs = list(output) if isinstance(output, (tuple, list)) else [output]
        if not self.is_last:
            if not self._has_told:
                facts = [(tuple(x.shape), x.dtype) for x in outputs]
                target = (self.stage_index + 1) % self._group_size
                dist.send_object_list([facts], group=self.group, group_dst=target)
                self._has_told = True
            self._send(outputs, 1)
        if torch.is_grad_enabled():
            self._runs[number] = inputs, outputs
        return output

    def backward(self, number: int, loss: Any = None) -> None:
        """Runs a microbatch's backward: of its loss, or of received gradients."""
        inputs, outputs = self._runs.pop(number)
        if loss is not None:
            loss.backward()
        else:
            moving = [x for x in outputs if x.requires_grad]
            facts = [(tuple(x.shape), x.dtype) for x in moving]
            torch.autograd.backward(moving, self._receive(facts, 1))
        if not self.is_first:
            wanted = [x for x in inputs if x.requires_grad]
            grads = [torch.zeros_like(x) if x.grad is None else x.grad for x in wanted]
            self._send(grads, -1)

    def finish(self, divisor: int) -> None:
        """Waits for what was sent, and divides the gradients."""
        for work, _ in self._sent:
            work.wait()
        self._sent = []
        if divisor > 1:
            with torch.no_grad():
                for parameter in self.submod.parameters():
                    if parameter.grad is not None:
                        parameter.grad.div_(divisor)
