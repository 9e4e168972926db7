"""``torch.utils.benchmark``: how often statements run, and how results are shown."""

import pytest

import pellucid as torch
from pellucid.utils.benchmark import Compare, Measurement, TaskSpec, Timer


def test_a_timer_warms_up_and_counts_its_runs():
    calls = []
    actual = Timer("f()", globals={"f": lambda: calls.append(0)}).timeit(10)
    assert len(calls) == 12
    assert actual.number_per_run == 10
    assert actual.median == actual.mean == actual.times[0] > 0
    assert actual.iqr == 0


def test_the_threads_are_set_meanwhile():
    seen = []
    before = torch.get_num_threads()
    statement = "seen.append(torch.get_num_threads())"
    Timer(statement, globals={"seen": seen}, num_threads=before + 1).timeit(1)
    assert set(seen) == {before + 1}
    assert torch.get_num_threads() == before


def test_blocks_run_until_the_time_is_over():
    clock = []
    timer = Timer(
        "run()",
        timer=lambda: float(len(clock)),
        globals={"run": lambda: clock.append(0)},
    )
    actual = timer.blocked_autorange(min_run_time=3)
    assert actual.raw_times == [1.0, 1.0, 1.0]
    assert timer.adaptive_autorange().raw_times == [1.0, 1.0, 1.0, 1.0]


def measured(sub_label, description, *times):
    spec = TaskSpec("x", "pass", "", "sum", sub_label, description)
    return Measurement(10, list(times), spec)


def test_results_are_shown_with_their_units():
    shown = repr(measured("small", "old", 1e-5, 1e-5, 2e-5, 2e-5))
    assert "sum: small\n  Median: 1.50 us\n  IQR:    1.00 us" in shown
    assert "4 measurements, 10 runs per measurement, 1 thread" in shown
    assert "  2.00 ms\n  1 measurement, 10 runs" in repr(measured("a", "b", 0.02))


def test_a_table_has_a_row_for_each_sub_label():
    table = Compare([measured("small", "old", 1e-5), measured("small", "new", 2e-5)])
    table.extend_results([measured("large", "new", 5e-3)])
    assert str(table).splitlines() == [
        "[--------------- sum ---------------]",
        "             |       old  |       new",
        "1 threads: --------------------------",
        "      small  |       1.0  |       2.0",
        "      large  |            |     500.0",
        "",
        "Times are in microseconds (us).",
    ]
    table.trim_significant_figures()
    assert "500" in str(table) and "500.0" not in str(table)


def test_results_of_other_environments_have_rows_of_their_own():
    specs = [TaskSpec("x", "pass", label="sum", env=env) for env in ("old", "new")]
    table = str(Compare([Measurement(1, [1e-5], spec) for spec in specs]))
    assert "(old) x" in table and "(new) x" in table


def test_a_table_has_colors():
    results = [measured("small", "old", 1e-5), measured("small", "new", 2e-5)]
    results += [measured("large", "old", 3e-5), measured("large", "new", 3e-5)]
    plain = str(Compare(results)).splitlines()
    table = Compare(results)
    table.colorize()
    green, red, end = "\033[32m", "\033[31m", "\033[0m"
    small, large = str(table).splitlines()[3:5]
    assert f"{green}     1.0{end}" in small and f"{green}     2.0{end}" in small
    assert f"{red}     3.0{end}  |       3.0" in large
    table.colorize(rowwise=True)
    small, large = str(table).splitlines()[3:5]
    assert f"{green}     1.0{end}  |  {red}     2.0{end}" in small
    assert large.count(green) == 2
    for code in (green, end):
        large = large.replace(code, "")
    assert large == plain[4]


def test_indented_statements_are_timed():
    timer = Timer(
        """
            y = x
            y += 1
        """,
        setup="""
            x = 1
        """,
        sub_label="small",
    )
    actual = timer.timeit(1)
    assert (
        actual.task_spec.stmt == "y = x\ny += 1" and actual.task_spec.setup == "x = 1"
    )
    assert actual.title == "stmt: (small)\n  y = x\n  y += 1"


def test_titles_have_the_sub_label():
    assert TaskSpec("x + 1", "pass", sub_label="small").title == "x + 1: small"
    assert TaskSpec("x + 1", "pass", label="sum").title == "sum"


def test_no_other_language_is_timed():
    with pytest.raises(NotImplementedError, match="Python"):
        Timer("x;", language="c++")
