"""The module of an accelerator that the machine does not have.

Queries return empty values, functions that free or seed do nothing, and functions that
need a device raise. ``cuda``, ``xpu`` and ``mtia`` are built from it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from typing import Any, NoReturn

from pellucid import Tensor


class AbsentDevice:
    """The answers for one kind of device, by its title ("CUDA")."""

    def __init__(self, title: str) -> None:
        self.title = title

    def refuse(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Raises AssertionError: there is no such device."""
        raise AssertionError(
            f"Torch not compiled with {self.title} enabled: Pellucid computes on the "
            f"CPU\nAsk torch.{self.title.lower()}.is_available() first, or use "
            "device='cpu'."
        )

    def no(self, *args: Any, **kwargs: Any) -> bool:
        """False: there is no such device."""
        return False

    def zero(self, *args: Any, **kwargs: Any) -> int:
        """0: there is no such device."""
        return 0

    def nothing(self, *args: Any, **kwargs: Any) -> None:
        """Does nothing: there is no such device."""

    def no_statistics(self, *args: Any, **kwargs: Any) -> OrderedDict[str, Any]:
        """An empty dict: there is no such device."""
        return OrderedDict()

    def no_list(self, *args: Any, **kwargs: Any) -> list[Any]:
        """An empty list: there is no such device."""
        return []

    def no_text(self, *args: Any, **kwargs: Any) -> str:
        """An empty text: there is no such device."""
        return ""

    def take_states(self, new_states: Iterable[Tensor]) -> None:
        """Takes back an empty list of states; RuntimeError for that of a device."""
        if list(new_states):
            raise RuntimeError(
                f"the state of a {self.title} device's generator: there is no device"
            )

    def type_that_refuses(self, name: str, doc: str) -> type:
        """A class of what only the device has: making one raises RuntimeError."""
        title = self.title

        def make(cls: type, *args: Any, **kwargs: Any) -> NoReturn:
            raise RuntimeError(
                f"torch.{title.lower()}.{name} requires {title} support: Pellucid "
                "computes on the CPU"
            )

        return type(name, (), {"__new__": make, "__doc__": doc})

    def guard_type(self) -> type:
        """``device``: makes a device the current one for a block; -1 and None none."""
        absent = self

        class device:
            """A context in which a device is the current one; -1 and None change
            nothing, any other raises when it is entered.
            """

            def __init__(self, device: Any) -> None:
                self.idx = -1 if device is None else device

            def __enter__(self) -> None:
                if self.idx != -1:
                    absent.refuse()

            def __exit__(self, *error: object) -> None:
                pass

        return device

    def stream_context_type(self) -> type:
        """``StreamContext``: None changes nothing."""

        class StreamContext:
            """A context in which a stream is the current one; None changes nothing."""

            def __init__(self, stream: Any) -> None:
                self.stream = stream

            def __enter__(self) -> None:
                pass

            def __exit__(self, *error: object) -> None:
                pass

        return StreamContext
