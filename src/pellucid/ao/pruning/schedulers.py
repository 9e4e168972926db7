"""Schedules of sparsity levels."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

from pellucid.ao.pruning.base_sparsifier import BaseSparsifier

__all__ = ["BaseScheduler", "CubicSL", "LambdaSL"]


class BaseScheduler(ABC):
    """Sets ``sparsity_level`` of the groups of a sparsifier: ``step()`` after each of
    its steps. A subclass computes the levels in ``get_sl``, from ``base_sl``, the
    initial levels, and ``last_epoch``, the number of steps.
    """

    def __init__(
        self, sparsifier: BaseSparsifier, last_epoch: int = -1, verbose: bool = False
    ) -> None:
        if not isinstance(sparsifier, BaseSparsifier):
            raise TypeError(
                f"{type(self).__name__} takes a sparsifier, not a "
                f"{type(sparsifier).__name__}"
            )
        self.sparsifier = sparsifier
        self.base_sl: list[float] = [g["sparsity_level"] for g in sparsifier.groups]
        self.last_epoch, self.verbose = last_epoch, verbose
        self._last_sl: list[float] = []
        self.step()

    @abstractmethod
    def get_sl(self) -> list[float]:
        """The level of each group at ``last_epoch``."""

    def step(self, epoch: int | None = None) -> None:
        """Sets the levels of the next step, or of step ``epoch``."""
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        groups = self.sparsifier.groups
        for number, (group, sl) in enumerate(zip(groups, self.get_sl(), strict=True)):
            group["sparsity_level"] = sl
            self.print_sl(self.verbose, number, sl, epoch)
        self._last_sl = [group["sparsity_level"] for group in groups]
        self.sparsifier.enable_mask_update = True

    def get_last_sl(self) -> list[float]:
        """The levels that were set last."""
        return self._last_sl

    def print_sl(
        self, is_verbose: bool, group: int, sl: float, epoch: int | None = None
    ) -> None:
        """Prints the level of a group, if ``is_verbose``."""
        if is_verbose:
            at = "" if epoch is None else f"Epoch {epoch}: "
            print(f"{at}sparsity level of group {group} is {sl:.4e}")

    def state_dict(self) -> dict[str, Any]:
        """The state, without the sparsifier."""
        return {k: v for k, v in vars(self).items() if k != "sparsifier"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Loads the result of :meth:`state_dict`."""
        vars(self).update(state_dict)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__} (\nSparsifier {self.sparsifier}\n"
            f"    base_sl: {self.base_sl}\n)"
        )

    def _make_sure_a_list(self, var: Any) -> list[Any]:
        """A list with one value per group."""
        count = len(self.sparsifier.groups)
        if not isinstance(var, (list, tuple)):
            return [var] * count
        if len(var) != count:
            raise ValueError(f"Expected values of {count} groups, but got {len(var)}")
        return list(var)


class LambdaSL(BaseScheduler):
    """The initial levels times ``sl_lambda(step)``, a function or a list with one per
    group.
    """

    def __init__(
        self,
        sparsifier: BaseSparsifier,
        sl_lambda: Callable[[int], float] | Sequence[Callable[[int], float]],
        last_epoch: int = -1,
        verbose: bool = False,
    ) -> None:
        self.sparsifier = sparsifier
        self.sl_lambdas = self._make_sure_a_list(sl_lambda)
        super().__init__(sparsifier, last_epoch, verbose)

    def get_sl(self) -> list[float]:
        """The levels of this step."""
        pairs = zip(self.base_sl, self.sl_lambdas, strict=True)
        return [level * scale(self.last_epoch) for level, scale in pairs]


class CubicSL(BaseScheduler):
    """From ``init_sl`` to the initial levels ``s``: ``s + (init_sl - s) * (1 - p) **
    3`` (Zhu and Gupta 2017), where p goes from 0 at step ``init_t`` to 1 after
    ``total_t`` times ``delta_t`` steps. Before ``init_t`` the level is ``init_sl``, or
    0 if ``initially_zero``. Each option applies to all groups, or is a list.
    """

    def __init__(
        self,
        sparsifier: BaseSparsifier,
        init_sl: Any = 0.0,
        init_t: Any = 0,
        delta_t: Any = 10,
        total_t: Any = 100,
        initially_zero: Any = False,
        last_epoch: int = -1,
        verbose: bool = False,
    ) -> None:
        self.sparsifier = sparsifier
        self.init_sl = self._make_sure_a_list(init_sl)
        self.init_t = self._make_sure_a_list(init_t)
        self.delta_t = self._make_sure_a_list(delta_t)
        self.total_t = self._make_sure_a_list(total_t)
        self.initially_zero = self._make_sure_a_list(initially_zero)
        super().__init__(sparsifier, last_epoch, verbose)

    def get_sl(self) -> list[float]:
        """The levels of this step."""
        options = (self.init_sl, self.init_t, self.delta_t, self.total_t)
        rows = zip(self.base_sl, *options, self.initially_zero, strict=True)
        return [self._level(*row) for row in rows]

    def _level(
        self, last: float, first: float, start: int, delta: int, total: int, zero: bool
    ) -> float:
        if self.last_epoch < start:
            return 0 if zero else first
        part = min((self.last_epoch - start) / (delta * total), 1.0)
        left = (1 - part) ** 3
        return first * left + last * (1 - left)
