"""The allocator lab: replays, and that `Current` models the running allocator."""

import pytest

import pellucid as torch
from pellucid import memory
from pellucid.memory import Entry
from pellucid.memory._policies import policies

MIB = 1 << 20


def churn():
    kept = []
    for k in range(12):
        a = torch.empty((3 + k) << 18)
        b = torch.empty((1 + k % 5) << 17)
        kept.append(torch.empty((1 + k) << 12))
        small = [torch.empty(100 * n) for n in range(30)]
        if k % 3 == 0:
            kept.pop(0)
        del a, b, small
    return kept


def test_the_current_policy_gives_the_real_counters():
    for _ in range(2):  # the second run reuses what the first left
        results = []
        trace = memory.record_trace(lambda results=results: results.append(churn()))
        actual = memory.replay(trace, memory.Current())
        assert len(trace) > 500
        assert actual.live == trace.counters["allocated_bytes"]
        assert actual.resident == trace.counters["reserved_bytes"]
        assert actual.base_calls == trace.counters["num_base_allocations"]


@pytest.mark.parametrize("policy", policies(), ids=lambda policy: type(policy).__name__)
def test_blocks_of_a_policy_never_overlap(policy):
    trace = memory.record_trace(churn)
    actual = memory.replay(trace, policy)
    assert actual.resident_peak >= actual.live_peak > 0
    assert 0 <= actual.fragmentation < 1
    for begin, end, address, nbytes in actual.placed:
        for other_begin, other_end, other, size in actual.placed:
            together = begin < other_end and other_begin < end
            if together and (begin, address) != (other_begin, other):
                assert address + nbytes <= other or other + size <= address
    assert actual.svg().count("<rect") == len(actual.placed)
    assert type(policy).__name__ in str(actual)


def test_a_policy_of_ones_own():
    class Bump(memory.Policy):
        def take(self, nbytes):
            return self.grow(nbytes)

        def give(self, address, nbytes):
            self.shrink(address, nbytes)

    entries = [Entry(1, 100, True), Entry(2, 50, True), Entry(1, 100, False)]
    actual = memory.replay(entries, Bump())
    assert (actual.live_peak, actual.resident, actual.base_calls) == (150, 50, 2)
    with pytest.raises(NotImplementedError, match="Policy needs take"):
        memory.replay(entries, memory.Policy())


def large_temporaries():
    """Two temporaries of 256 MiB, whose memory is never touched, and a small result."""
    result = None
    for _ in range(4):
        a, b = torch.empty(64 * MIB), torch.empty(64 * MIB)
        previous, result = result, torch.empty(MIB)
        del a, b, previous
    return result


def test_a_small_result_leaves_large_segments_whole():
    results = []
    trace = memory.record_trace(lambda: results.append(large_temporaries()))
    assert trace.counters["reserved_bytes"] <= (512 + 3 * 4) * MIB
    actual = memory.replay(trace, memory.Current())
    assert actual.resident == trace.counters["reserved_bytes"]
    splitting = memory.replay(trace, memory.FirstFit())
    assert splitting.resident_peak >= actual.resident_peak


def step_of_equal_blocks():
    """40 MiB in blocks of 2 MiB, as the activations of a network's layers."""
    return [torch.empty(MIB // 2) for _ in range(20)]


def test_a_second_step_is_served_by_the_segment_of_the_first():
    trace = memory.record_trace(lambda: [len(step_of_equal_blocks()) for _ in "abc"])
    assert trace.counters["reserved_bytes"] < 41 * MIB
    actual = memory.replay(trace, memory.Current())
    assert actual.resident == trace.counters["reserved_bytes"]
