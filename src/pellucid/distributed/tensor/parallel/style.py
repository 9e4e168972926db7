"""Styles: placements of one module's parameters, inputs and outputs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import pellucid as torch
from pellucid import nn
from pellucid.distributed.device_mesh import DeviceMesh
from pellucid.distributed.tensor._api import distribute_tensor, replicate_rest
from pellucid.distributed.tensor._dtensor import DTensor
from pellucid.distributed.tensor.placement_types import Placement, Replicate, Shard


class ParallelStyle(ABC):
    """How a module is parallelised; applied by ``parallelize_module``."""

    src_data_rank: int | None = 0

    @abstractmethod
    def _apply(self, module: nn.Module, device_mesh: DeviceMesh) -> nn.Module:
        """Parallelises the module, and returns it."""


def _as_dtensor(x: Any, mesh: DeviceMesh, placement: Placement) -> Any:
    if isinstance(x, torch.Tensor) and not isinstance(x, DTensor):
        return DTensor.from_local(x, mesh, [placement])
    return x


def _placed(x: Any, placement: Placement | None) -> Any:
    if isinstance(x, DTensor) and placement is not None:
        return x.redistribute(placements=[placement])
    return x


def _given(x: Any, use_local: bool) -> Any:
    return x.to_local() if use_local and isinstance(x, DTensor) else x


class _OfWeights(ParallelStyle):
    """A style that shards a module's weights."""

    def __init__(
        self,
        input_layouts: Placement,
        output_layouts: Placement,
        use_local_output: bool,
    ) -> None:
        self.input_layouts = (input_layouts,)
        self.output_layouts = (output_layouts,)
        self.use_local_output = use_local_output

    @abstractmethod
    def _weights(self, module: nn.Module) -> dict[str, Placement]:
        """The placements of parameters by name; the others are replicated."""

    @abstractmethod
    def _wanted(self, module: nn.Module) -> Placement:
        """The placement required of the input."""

    def _apply(self, module: nn.Module, device_mesh: DeviceMesh) -> nn.Module:
        for name, placement in self._weights(module).items():
            parameter = module._parameters.get(name)
            if parameter is None:
                continue
            made = distribute_tensor(
                parameter.data,
                device_mesh,
                [placement],
                src_data_rank=self.src_data_rank,
            )
            new = nn.Parameter(made, parameter.requires_grad)
            module.register_parameter(name, new)
        replicate_rest(module, device_mesh)
        wanted = self._wanted(module)

        def prepare(_: Any, inputs: Any) -> Any:
            first = _as_dtensor(inputs[0], device_mesh, self.input_layouts[0])
            return (_placed(first, wanted), *inputs[1:])

        def finish(_: Any, inputs: Any, output: Any) -> Any:
            moved = _placed(output, self.output_layouts[0])
            return _given(moved, self.use_local_output)

        module.register_forward_pre_hook(prepare)
        module.register_forward_hook(finish)
        return module


def _refuse(style: str, module: nn.Module) -> None:
    raise NotImplementedError(
        f"{style} currently only support nn.Linear and nn.Embedding! This is a "
        f"{type(module).__name__}."
    )


class ColwiseParallel(_OfWeights):
    """Shards the output features of a Linear, or the columns of an Embedding.

    The input is replicated; the output is sharded along its last dim, and by default
    returned as this process's shard, a plain tensor.
    """

    def __init__(
        self,
        *,
        input_layouts: Placement | None = None,
        output_layouts: Placement | None = None,
        use_local_output: bool = True,
    ) -> None:
        given = input_layouts or Replicate()
        super().__init__(given, output_layouts or Shard(-1), use_local_output)

    def _weights(self, module: nn.Module) -> dict[str, Placement]:
        if isinstance(module, nn.Linear):
            return {"weight": Shard(0), "bias": Shard(0)}
        if not isinstance(module, nn.Embedding):
            _refuse("ColwiseParallel", module)
        return {"weight": Shard(1)}

    def _wanted(self, module: nn.Module) -> Placement:
        return Replicate()


class RowwiseParallel(_OfWeights):
    """Shards the input features of a Linear, or the rows of an Embedding.

    The input of a Linear is sharded along its last dim; the output is the sum,
    replicated by default.
    """

    def __init__(
        self,
        *,
        input_layouts: Placement | None = None,
        output_layouts: Placement | None = None,
        use_local_output: bool = True,
    ) -> None:
        given = input_layouts or Shard(-1)
        super().__init__(given, output_layouts or Replicate(), use_local_output)

    def _weights(self, module: nn.Module) -> dict[str, Placement]:
        if isinstance(module, nn.Linear):
            return {"weight": Shard(1), "bias": Replicate()}
        if not isinstance(module, nn.Embedding):
            _refuse("RowwiseParallel", module)
        return {"weight": Shard(0)}

    def _wanted(self, module: nn.Module) -> Placement:
        return Shard(-1) if isinstance(module, nn.Linear) else Replicate()


class SequenceParallel(_OfWeights):
    """Shards the input of a norm or of dropout along a dim, 1 by default."""

    def __init__(
        self, *, sequence_dim: int = 1, use_local_output: bool = False
    ) -> None:
        part = Shard(sequence_dim)
        super().__init__(part, part, use_local_output)

    def _weights(self, module: nn.Module) -> dict[str, Placement]:
        return {}

    def _wanted(self, module: nn.Module) -> Placement:
        return self.input_layouts[0]


def _listed(layouts: Any) -> tuple[Placement | None, ...]:
    return (layouts,) if isinstance(layouts, Placement) else tuple(layouts or ())


class PrepareModuleInput(ParallelStyle):
    """Makes a module's inputs DTensors and redistributes them."""

    def __init__(
        self,
        *,
        input_layouts: Any = None,
        desired_input_layouts: Any = None,
        input_kwarg_layouts: dict[str, Placement] | None = None,
        desired_input_kwarg_layouts: dict[str, Placement] | None = None,
        use_local_output: bool = False,
    ) -> None:
        self.input_layouts = _listed(input_layouts)
        self.desired_input_layouts = _listed(desired_input_layouts)
        if len(self.input_layouts) != len(self.desired_input_layouts):
            raise AssertionError(
                "input_layouts and desired_input_layouts should have same length!"
            )
        self.input_kwarg_layouts = input_kwarg_layouts or {}
        self.desired_input_kwarg_layouts = desired_input_kwarg_layouts or {}
        self.use_local_output = use_local_output

    def _one(self, x: Any, mesh: DeviceMesh, layout: Any, desired: Any) -> Any:
        if layout is None:
            return x
        moved = _placed(_as_dtensor(x, mesh, layout), desired)
        return _given(moved, self.use_local_output)

    def _apply(self, module: nn.Module, device_mesh: DeviceMesh) -> nn.Module:
        def prepare(_: Any, inputs: Any, options: Any) -> Any:
            if self.input_layouts and len(inputs) != len(self.input_layouts):
                raise ValueError(
                    "module inputs and input_layouts should have same length! There "
                    f"are {len(inputs)} inputs and {len(self.input_layouts)} layouts."
                )
            pairs = zip(inputs, self.input_layouts, self.desired_input_layouts,
                        strict=False)  # fmt: skip
            if self.input_layouts:
                inputs = tuple(self._one(x, device_mesh, a, b) for x, a, b in pairs)
            options = dict(options)
            for name, layout in self.input_kwarg_layouts.items():
                desired = self.desired_input_kwarg_layouts.get(name)
                if name in options:
                    found = self._one(options[name], device_mesh, layout, desired)
                    options[name] = found
            return inputs, options

        module.register_forward_pre_hook(prepare, with_kwargs=True)
        return module


class PrepareModuleOutput(ParallelStyle):
    """Makes a module's outputs DTensors and redistributes them."""

    def __init__(
        self,
        *,
        output_layouts: Any,
        desired_output_layouts: Any,
        use_local_output: bool = True,
    ) -> None:
        self.output_layouts = _listed(output_layouts)
        self.desired_output_layouts = _listed(desired_output_layouts)
        if len(self.output_layouts) != len(self.desired_output_layouts):
            raise AssertionError(
                "output_layouts and desired_output_layouts should have same length!"
            )
        self.use_local_output = use_local_output

    def _apply(self, module: nn.Module, device_mesh: DeviceMesh) -> nn.Module:
        def finish(_: Any, inputs: Any, output: Any) -> Any:
            is_one = not isinstance(output, tuple)
            outputs = (output,) if is_one else output
            if len(outputs) != len(self.output_layouts):
                raise ValueError(
                    "module outputs and output_layouts should have same length!"
                )
            found = []
            for x, layout, desired in zip(
                outputs, self.output_layouts, self.desired_output_layouts, strict=True
            ):
                if layout is not None:
                    x = _placed(_as_dtensor(x, device_mesh, layout), desired)
                    x = _given(x, self.use_local_output)
                found.append(x)
            return found[0] if is_one else tuple(found)

        module.register_forward_hook(finish)
        return module


class PrepareModuleInputOutput(ParallelStyle):
    """Both of them."""

    def __init__(
        self,
        *,
        input_layouts: Any = None,
        desired_input_layouts: Any = None,
        input_kwarg_layouts: dict[str, Placement] | None = None,
        desired_input_kwarg_layouts: dict[str, Placement] | None = None,
        use_local_input: bool = False,
        output_layouts: Any,
        desired_output_layouts: Any,
        use_local_output: bool = True,
    ) -> None:
        self.prepare_module_input = PrepareModuleInput(
            input_layouts=input_layouts,
            desired_input_layouts=desired_input_layouts,
            input_kwarg_layouts=input_kwarg_layouts,
            desired_input_kwarg_layouts=desired_input_kwarg_layouts,
            use_local_output=use_local_input,
        )
        self.prepare_module_output = PrepareModuleOutput(
            output_layouts=output_layouts,
            desired_output_layouts=desired_output_layouts,
            use_local_output=use_local_output,
        )

    def _apply(self, module: nn.Module, device_mesh: DeviceMesh) -> nn.Module:
        self.prepare_module_input._apply(module, device_mesh)
        self.prepare_module_output._apply(module, device_mesh)
        return module
