"""Anomaly mode: backward errors name the forward line, and NaN gradients are errors."""

from __future__ import annotations

from pellucid import _C

__all__ = ["detect_anomaly", "first_non_finite", "set_detect_anomaly"]


def _switch(mode: bool, check_nan: bool) -> None:
    """Switches the mode, and records it on the timeline if one is active."""
    if mode:
        _C._timeline_end(_C._timeline_begin("anomaly mode"))
    _C._set_anomaly(mode, check_nan)


class set_detect_anomaly:
    """Switches anomaly mode on or off; as a context manager restores it."""

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        for name, value in (("mode", mode), ("check_nan", check_nan)):
            if not isinstance(value, bool):
                raise TypeError(
                    f"set_detect_anomaly: {name} must be True or False, not {value!r}"
                )
        self._previous = (_C.is_anomaly_enabled(), _C.is_anomaly_check_nan_enabled())
        _switch(mode, check_nan)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exception: object) -> None:
        _C._set_anomaly(*self._previous)


class detect_anomaly:
    """A scope that records where forward ops are called and refuses NaN gradients.

    An error in backward is preceded by a warning that shows the forward call of the op
    that failed. Slows every op down: for debugging only.
    """

    def __init__(self, check_nan: bool = True) -> None:
        import warnings

        self._check_nan = check_nan
        self._previous: tuple[bool, bool] = (False, True)
        warnings.warn(
            "Anomaly Detection has been enabled: it slows down the program and is "
            "meant for finding errors",
            stacklevel=2,
        )

    def __enter__(self) -> None:
        self._previous = (_C.is_anomaly_enabled(), _C.is_anomaly_check_nan_enabled())
        _switch(True, self._check_nan)

    def __exit__(self, *exception: object) -> None:
        _C._set_anomaly(*self._previous)


def first_non_finite() -> str:
    """Where values in this thread first became NaN or infinite; "" if none did.

    Names the op, the element and the calling line, since anomaly mode was entered;
    infinities that a program writes as constants do not count.
    """
    text: str = _C._first_non_finite()
    return text
