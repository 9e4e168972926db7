"""Extensions of files: transformations of the bytes of each item, such as compression.

The descriptors of the extensions are stored with an item; a reader finds the classes
by them in its registry.
"""

from __future__ import annotations

import abc
from collections.abc import Sequence
from typing import IO

__all__ = ["Extension", "ExtensionRegistry", "StreamTransformExtension"]


class Extension(abc.ABC):
    """The base class."""

    @staticmethod
    @abc.abstractmethod
    def registry_name() -> str:
        """The name before the version in descriptors."""

    @staticmethod
    @abc.abstractmethod
    def from_descriptor(version: str) -> Extension:
        """The extension that reads what this version wrote."""

    @abc.abstractmethod
    def get_descriptor(self) -> str:
        """``name/version``."""


class StreamTransformExtension(Extension):
    """Transforms the bytes of an item."""

    @abc.abstractmethod
    def transform_to(self, output: IO[bytes]) -> IO[bytes]:
        """A file that writes what it is given to ``output``, transformed. Its
        ``close`` closes ``output``.
        """

    @abc.abstractmethod
    def transform_from(self, input: IO[bytes]) -> IO[bytes]:
        """A file that reads ``input`` and transforms it back."""


class ExtensionRegistry:
    """The extensions that a reader knows."""

    def __init__(self) -> None:
        self.extensions: dict[str, type[Extension]] = {}

    def register(self, cls: type[Extension]) -> None:
        """Adds an extension under its name."""
        self.extensions[cls.registry_name()] = cls

    def from_descriptor_list(self, descriptors: Sequence[str]) -> list[Extension]:
        """The extensions of descriptors; ValueError for one that is not registered."""
        found = []
        for descriptor in descriptors:
            name, _, version = descriptor.partition("/")
            if name not in self.extensions:
                raise ValueError(
                    f"Unknown extension {name=}: register its class with the "
                    "ExtensionRegistry that the reader is given"
                )
            found.append(self.extensions[name].from_descriptor(version))
        return found
