"""``Calls``, which decides who runs a group's next call, and ``combine``, which reduces
the ranks' operands.
"""

import sys
import threading

import pytest

import pellucid as torch
from pellucid.distributed._distributed import Calls, combine
from pellucid.distributed._transport import codes

FIRST, SECOND = (codes.BARRIER, 0, 0, 0, -1), (codes.ALL_REDUCE, 5, 8, 0, -1)


def tell(error, call, timeout):
    raise AssertionError(f"{call} has not failed") from error


def test_a_call_runs_with_its_arguments_and_is_remembered():
    calls, given = Calls(), []

    def run(*arguments):
        assert calls.since > 0
        given.append(arguments)

    assert calls.try_run(run, tell, FIRST, 0, 0, 1.0, 3.0)
    assert calls.try_run(run, tell, SECOND, 16, 32, 2.0, 3.0)
    assert given[1] == (codes.ALL_REDUCE, 16, 32, 5, 8, 0, -1, 2.0, 3.0)
    assert (calls.last, calls.before) == (SECOND, FIRST)
    assert (calls.num_calls, calls.since, calls.site) == (2, 0.0, None)


def test_no_call_overtakes_a_queued_or_a_running_one():
    calls = Calls()
    calls.num_queued = 1
    assert not calls.try_run(print, tell, FIRST, 0, 0, 1.0, 3.0)
    calls.num_queued = 0
    calls.begin(FIRST, "train.py:3")
    assert calls.site == "train.py:3"
    assert not calls.try_run(print, tell, SECOND, 0, 0, 1.0, 3.0)
    calls.end()
    assert calls.num_calls == 1


@pytest.mark.parametrize("told", [None, ValueError("told")], ids=["kept", "other"])
def test_a_failed_call_runs_until_its_error_is_told(told):
    calls, seen = Calls(), []

    def fail(*arguments):
        raise KeyboardInterrupt

    def tell_it(error, call, timeout):
        assert calls.since > 0
        assert not calls.try_run(fail, tell, SECOND, 0, 0, 1.0, 3.0)
        seen.append((type(error), call, timeout))
        if told is not None:
            raise told

    with pytest.raises(KeyboardInterrupt if told is None else ValueError):
        calls.try_run(fail, tell_it, FIRST, 0, 0, 1.0, 3.0)
    assert seen == [(KeyboardInterrupt, FIRST, 3.0)] and calls.since == 0
    assert calls.try_run(lambda *_: None, tell, SECOND, 0, 0, 1.0, 3.0)


def test_nobody_ends_a_call_that_another_runs():
    calls = Calls()

    def run(*arguments):
        assert not calls.try_run(run, tell, SECOND, 0, 0, 1.0, 3.0)
        with pytest.raises(RuntimeError, match="none runs"):
            calls.end()
        assert not calls.try_run(run, tell, SECOND, 0, 0, 1.0, 3.0)

    assert calls.try_run(run, tell, FIRST, 0, 0, 1.0, 3.0)
    with pytest.raises(RuntimeError, match="none runs"):
        calls.end()


def test_a_call_of_the_thread_waits_for_the_running_one():
    calls, order = Calls(), []

    def run_later():
        order.append("is given")
        calls.begin(SECOND, "train.py:9")
        order.append("second")
        calls.end()

    thread = threading.Thread(target=run_later)

    def run(*arguments):
        interval = sys.getswitchinterval()
        sys.setswitchinterval(600)  # start() returns when the thread waits by itself
        thread.start()
        sys.setswitchinterval(interval)
        order.append("first")

    assert calls.try_run(run, tell, FIRST, 0, 0, 1.0, 3.0)
    thread.join(60)
    assert order == ["is given", "first", "second"]
    assert calls.last == SECOND


def test_a_call_that_is_not_five_numbers_is_refused():
    with pytest.raises(TypeError, match="kind, count, dtype, reduction, root"):
        Calls().try_run(print, tell, (1, 2), 0, 0, 1.0, 3.0)


@pytest.mark.parametrize("ranks", [2, 3, 4])
@pytest.mark.parametrize("dtype", codes.DTYPES[1:12], ids=str)
def test_reductions_of_every_length_around_whole_strips(dtype, ranks):
    strip = 128 // dtype.itemsize
    for count in (1, strip - 1, strip, strip + 1, 3 * strip + 5):
        operands = [torch.arange(k, count + k).to(dtype) for k in range(ranks)]
        expected = sum(operand.to(torch.complex128) for operand in operands)
        guard = torch.full((count + 1,), 7).to(dtype)
        guard[:count] = operands[0]
        addresses = [guard.data_ptr(), *(o.data_ptr() for o in operands[1:])]
        code = codes.DTYPE_CODES[dtype]
        combine(addresses, [1.0] * ranks, guard.data_ptr(), count, code, 0)
        wrapped = expected.real.to(torch.int64).to(dtype)
        wanted = expected.to(dtype) if dtype.is_complex else wrapped
        assert torch.equal(guard[:count], wanted)
        assert guard[count] == torch.full((), 7).to(dtype)
