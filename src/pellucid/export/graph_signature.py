"""``torch.export.graph_signature``: the inputs and outputs of a program's graph.

The inputs of an exported program are parameters, buffers, constants and the arguments,
in this order; the outputs are the results. A program of ``run_decompositions`` has no
in-place writes: it returns the new values of buffers and arguments before the results,
and the caller writes them (``ExportedProgram.module()``).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

__all__ = [
    "ConstantArgument",
    "ExportGraphSignature",
    "InputKind",
    "InputSpec",
    "OutputKind",
    "OutputSpec",
    "SymIntArgument",
    "TensorArgument",
]


class InputKind(Enum):
    """The kind of an input of the graph."""

    USER_INPUT = 1
    PARAMETER = 2
    BUFFER = 3
    CONSTANT_TENSOR = 4


class OutputKind(Enum):
    """The kind of an output of the graph."""

    USER_OUTPUT = 1
    BUFFER_MUTATION = 3
    USER_INPUT_MUTATION = 7


@dataclass
class TensorArgument:
    """A tensor input or output of a graph or call: its node's name."""

    name: str


@dataclass
class SymIntArgument:
    """A size that a graph returns: its node's name."""

    name: str


@dataclass
class ConstantArgument:
    """Another input or output of a graph or call; ``name`` is its placeholder's, or
    empty.
    """

    name: str
    value: Any


Argument = TensorArgument | SymIntArgument | ConstantArgument


def _shown(argument: Argument) -> Any:
    return getattr(argument, "value", argument.name)


@dataclass
class InputSpec:
    """One input: its placeholder, and for the program's own tensors their names."""

    kind: InputKind
    arg: Argument
    target: str | None = None
    persistent: bool | None = None

    def __str__(self) -> str:
        target = "" if self.target is None else f" target={self.target!r}"
        stored = "" if self.persistent is None else f" persistent={self.persistent}"
        return f"{self.arg.name}: {self.kind.name}{target}{stored}"


@dataclass
class OutputSpec:
    """One output: its node; for a new value ``target`` is the buffer, or the
    placeholder of the argument.
    """

    kind: OutputKind
    arg: Argument
    target: str | None = None

    def __str__(self) -> str:
        target = "" if self.target is None else f" target={self.target!r}"
        return f"{_shown(self.arg)}: {self.kind.name}{target}"


@dataclass
class ExportGraphSignature:
    """The kinds of a graph's inputs and outputs, in order."""

    input_specs: list[InputSpec]
    output_specs: list[OutputSpec]

    def _targets(self, kind: InputKind) -> tuple[str, ...]:
        return tuple(str(s.target) for s in self.input_specs if s.kind is kind)

    def _by_name(self, kind: InputKind) -> dict[str, str]:
        return {s.arg.name: str(s.target) for s in self.input_specs if s.kind is kind}

    def _written(self, kind: OutputKind) -> dict[str, str]:
        return {s.arg.name: str(s.target) for s in self.output_specs if s.kind is kind}

    @property
    def parameters(self) -> tuple[str, ...]:
        """The parameters' names in the module."""
        return self._targets(InputKind.PARAMETER)

    @property
    def buffers(self) -> tuple[str, ...]:
        """The buffers' names in the module."""
        return self._targets(InputKind.BUFFER)

    @property
    def non_persistent_buffers(self) -> tuple[str, ...]:
        """The names of buffers that are not in its ``state_dict``."""
        kind, specs = InputKind.BUFFER, self.input_specs
        return tuple(
            str(s.target) for s in specs if s.kind is kind and s.persistent is False
        )

    @property
    def lifted_tensor_constants(self) -> tuple[str, ...]:
        """The constants' names."""
        return self._targets(InputKind.CONSTANT_TENSOR)

    @property
    def inputs_to_parameters(self) -> dict[str, str]:
        """Parameters by placeholder."""
        return self._by_name(InputKind.PARAMETER)

    @property
    def inputs_to_buffers(self) -> dict[str, str]:
        """Buffers by placeholder."""
        return self._by_name(InputKind.BUFFER)

    @property
    def inputs_to_lifted_tensor_constants(self) -> dict[str, str]:
        """Constants by placeholder."""
        return self._by_name(InputKind.CONSTANT_TENSOR)

    @property
    def buffers_to_mutate(self) -> dict[str, str]:
        """Buffers by the node of their new value."""
        return self._written(OutputKind.BUFFER_MUTATION)

    @property
    def user_inputs_to_mutate(self) -> dict[str, str]:
        """Placeholders of arguments by the node of their new value."""
        return self._written(OutputKind.USER_INPUT_MUTATION)

    @property
    def user_inputs(self) -> tuple[Any, ...]:
        """The placeholders of arguments; the values of arguments that are not
        tensors.
        """
        specs = (s for s in self.input_specs if s.kind is InputKind.USER_INPUT)
        return tuple(_shown(s.arg) for s in specs)

    @property
    def user_outputs(self) -> tuple[Any, ...]:
        """The nodes of results; the values of results that are neither tensors nor
        sizes.
        """
        specs = (s for s in self.output_specs if s.kind is OutputKind.USER_OUTPUT)
        return tuple(_shown(s.arg) for s in specs)

    def __str__(self) -> str:
        lines = ["# inputs", *map(str, self.input_specs), ""]
        return "\n".join([*lines, "# outputs", *map(str, self.output_specs), ""])
