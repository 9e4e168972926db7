"""Events as a table, in PyTorch's layout."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from pellucid.profiler._formats import format_bytes, format_share, format_time_in

_WIDTH = 12
_FLOP_UNITS = ("", "K", "M", "G", "T", "P")


class Options(NamedTuple):
    """The maximum widths of columns, and the header."""

    name_width: int
    source_width: int
    shapes_width: int
    header: str | None
    time_unit: str | None


class Column(NamedTuple):
    """A column: its head, its width, and its cell of an entry."""

    head: str
    width: int
    cell: Callable[[Any], str]
    is_left: bool = False


def _shortened(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 3] + "..."


def _time_columns(entries: Sequence[Any], options: Options) -> list[Column]:
    whole = sum(entry.self_cpu_time_total for entry in entries)

    def time(value: float) -> str:
        return format_time_in(value, options.time_unit)

    return [
        Column(
            "Self CPU %", _WIDTH, lambda e: format_share(e.self_cpu_time_total, whole)
        ),
        Column("Self CPU", _WIDTH, lambda e: time(e.self_cpu_time_total)),
        Column("CPU total %", _WIDTH, lambda e: format_share(e.cpu_time_total, whole)),
        Column("CPU total", _WIDTH, lambda e: time(e.cpu_time_total)),
        Column("CPU time avg", _WIDTH, lambda e: time(e.cpu_time)),
    ]


def _memory_columns() -> list[Column]:
    return [
        Column("CPU Mem", _WIDTH, lambda e: format_bytes(e.cpu_memory_usage)),
        Column("Self CPU Mem", _WIDTH, lambda e: format_bytes(e.self_cpu_memory_usage)),
    ]


def _shapes_column(entries: Sequence[Any], options: Options) -> Column:
    longest = max(len(str(entry.input_shapes)) for entry in entries)
    width = min(longest + 4, options.shapes_width)
    return Column(
        "Input Shapes", width, lambda e: _shortened(str(e.input_shapes), width)
    )


def _flops_column(entries: Sequence[Any]) -> Column:
    greatest = max(entry.flops or 0 for entry in entries)
    power = 0
    while greatest >= 1000 ** (power + 1) and power < len(_FLOP_UNITS) - 1:
        power += 1

    def cell(entry: Any) -> str:
        return f"{entry.flops / 1000**power:.3f}" if entry.flops else "--"

    return Column(f"Total {_FLOP_UNITS[power]}FLOPs", _WIDTH, cell)


def _name_column(entries: Sequence[Any], options: Options) -> Column:
    longest = max(len(entry.key) for entry in entries) + 4
    width = min(longest, options.name_width)
    return Column("Name", width, lambda e: _shortened(e.key, width))


def _source_column(entries: Sequence[Any], options: Options) -> Column:
    frames = [frame for entry in entries for frame in entry.stack]
    width = min(max(map(len, frames)) + 4, options.source_width)

    def cell(entry: Any) -> str:
        return _tail(entry.stack[0], width) if entry.stack else ""

    return Column("Source Location", width, cell, is_left=True)


def _tail(text: str, width: int) -> str:
    return text if len(text) <= width else "..." + text[-(width - 3) :]


def _columns(
    entries: Sequence[Any], options: Options, with_memory: bool
) -> list[Column]:
    columns = [_name_column(entries, options), *_time_columns(entries, options)]
    if with_memory:
        columns += _memory_columns()
    columns.append(Column("# of Calls", _WIDTH, lambda e: str(e.count)))
    if any(entry.input_shapes for entry in entries):
        columns.append(_shapes_column(entries, options))
    if any(entry.stack for entry in entries):
        columns.append(_source_column(entries, options))
    if any(entry.flops for entry in entries):
        columns.append(_flops_column(entries))
    return columns


def _line(cells: Sequence[str], columns: Sequence[Column]) -> str:
    pairs = zip(cells, columns, strict=True)
    return "".join(
        (cell.ljust(column.width) if column.is_left else cell.rjust(column.width))
        + "  "
        for cell, column in pairs
    )


def _more_frames(entry: Any, columns: Sequence[Column]) -> list[str]:
    """The frames behind the first, below it."""
    place = [column.head for column in columns].index("Source Location")
    width = columns[place].width
    rows = []
    for frame in entry.stack[1:]:
        cells = [""] * len(columns)
        cells[place] = _tail(frame, width)
        rows.append(_line(cells, columns))
    return [*rows, _line([""] * len(columns), columns)]


def render(
    entries: Sequence[Any],
    shown: Sequence[Any],
    whole: float,
    options: Options,
    with_memory: bool,
) -> str:
    """A table of ``shown``; shares and widths are of all ``entries``."""
    if not entries:
        return ""
    columns = _columns(entries, options, with_memory)
    rule = _line(["-" * column.width for column in columns], columns)
    heads = _line([column.head for column in columns], columns)
    lines = [rule, heads, rule]
    if options.header is not None:
        lines = ["=" * len(rule), options.header, "=" * len(rule), *lines]
    for entry in shown:
        lines.append(_line([column.cell(entry) for column in columns], columns))
        if len(entry.stack) > 1:
            lines += _more_frames(entry, columns)
    total = format_time_in(whole, options.time_unit)
    return "\n".join([*lines, rule, f"Self CPU time total: {total}", ""])
