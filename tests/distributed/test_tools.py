"""Memory and modules of a training step. The numbers of bytes and the order of hooks
are PyTorch's, except for temporaries of backward, which other kernels need.
"""

import gc

import pytest

import pellucid as torch
from pellucid import nn
from pellucid.distributed._tools import MemTracker, ModTracker
from pellucid.distributed._tools.mem_tracker import _MemRefType, _ModState
from pellucid.utils.checkpoint import checkpoint

CPU = torch.device("cpu")


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(8, 32), nn.Linear(32, 8)

    def forward(self, x):
        return x + self.down(torch.relu(self.up(x)))


class Net(nn.Module):
    def __init__(self, again=False):
        super().__init__()
        self.a, self.b, self.again = Block(), Block(), again
        self.register_buffer("z", torch.zeros(100))

    def forward(self, x):
        x = self.a(x)
        last = checkpoint(self.b, x, use_reentrant=False) if self.again else self.b(x)
        return last.sum()


def found(snapshot):
    """The bytes that are not zero, by role."""
    sums = snapshot.get(CPU, {})
    assert sum(sums.values()) == 2 * sums.get("Total", 0)
    return {getattr(role, "value", role): n for role, n in sums.items() if n}


def test_bytes_are_known_by_role_at_any_time():
    model, x = Net(), torch.randn(16, 8)
    optimizer = torch.optim.Adam(model.parameters())
    tracker = MemTracker()
    tracker.track_external(model, optimizer, [x, None])
    before = {"Parameter": 4416, "Buffer": 400, "Other": 512}
    assert found(tracker.get_tracker_snapshot()) == before | {"Total": 5328}
    with tracker:
        loss = model(x)
        # Each block keeps relu's result and its own; the loss has four bytes.
        kept = 2 * 2048 + 512 + 4
        current = found(tracker.get_tracker_snapshot())
        assert current.pop("Total") == 5328 + kept
        assert current == before | {"Activation": kept}
        loss.backward()
        current = found(tracker.get_tracker_snapshot())
        expected = before | {"Gradient": 4416, "Activation": 4}
        assert current == expected | {"Total": 5328 + 4416 + 4}
        optimizer.step()
        expected["Optstate"] = 2 * 4416 + 8 * 4  # two moments, and a count of steps
        assert found(tracker.get_tracker_snapshot()) == expected | {"Total": 18612}
        optimizer.zero_grad()
        del loss
        current = found(tracker.get_tracker_snapshot())
        assert current == before | {"Optstate": 8864, "Total": 5328 + 8864}
    peak = found(tracker.get_tracker_snapshot("peak"))
    assert peak["Total"] >= 18612
    large = torch.empty(1 << 20)
    assert found(tracker.get_tracker_snapshot())["Total"] == 5328 + 8864
    assert large.nbytes == 1 << 22


def test_modules_have_snapshots_of_their_calls():
    model, x = Net(), torch.randn(16, 8)
    tracker = MemTracker()
    tracker.track_external(x)
    with tracker:
        model(x).backward()
        whole, up = tracker.memory_tracking[model], tracker.memory_tracking[model.a.up]
        with pytest.raises(NotImplementedError, match="Net has been tracked"):
            model(x)
        tracker.reset_mod_stats()
        model(x)
    assert (whole.mod_fqn, up.mod_fqn) == ("Net", "Net.a.up")
    assert (whole.parameter_mem, whole.buffer_mem) == (4416, 400)
    assert (whole.input_mem, whole.output_mem) == (512, 4)
    assert (up.parameter_mem, up.input_mem, up.output_mem) == (1152, 512, 2048)
    states = [_ModState.PRE_FW, _ModState.PEAK_FW, _ModState.POST_FW,
              _ModState.PRE_BW, _ModState.PEAK_BW, _ModState.POST_BW]  # fmt: skip
    for stats in (whole, up):
        assert set(stats.snapshots) == set(states)
        totals = [found(stats.snapshots[state][0]).get("Total", 0) for state in states]
        assert totals[0] <= totals[1] >= totals[2] and totals[3] <= totals[4]
    before, after = (up.snapshots[state][0][CPU] for state in (states[0], states[2]))
    made = after[_MemRefType.ACT] - before[_MemRefType.ACT]
    assert made == 2048 and after["Total"] - before["Total"] == 2048
    last = whole.snapshots[_ModState.POST_BW][0][CPU]
    assert last[_MemRefType.GRAD] == 4416 and last[_MemRefType.TEMP] == 0
    assert whole.snapshots[_ModState.PEAK_BW][0][CPU][_MemRefType.TEMP] > 0


def test_what_a_checkpoint_computes_again_is_an_activation():
    model, x = Net(again=True), torch.randn(16, 8)
    tracker = MemTracker()
    tracker.track_external(model, x)
    with tracker:
        model(x).backward()
    stats = tracker.memory_tracking[model.b]
    before = stats.snapshots[_ModState.PRE_FW_AC][0][CPU]
    after = stats.snapshots[_ModState.POST_FW_AC][0][CPU]
    assert after[_MemRefType.ACT] - before[_MemRefType.ACT] == 2048
    assert after[_MemRefType.TEMP] == before[_MemRefType.TEMP]
    assert _ModState.PRE_FW_AC not in tracker.memory_tracking[model.a].snapshots


def test_a_tracker_leaves_no_hooks_and_no_session():
    model, tracker = Net(), MemTracker()
    with tracker, tracker:
        model(torch.ones(2, 8)).backward()
    assert not torch._C._timeline_is_on()
    assert not model.a.up.weight._post_accumulate_grad_hooks
    model(torch.ones(2, 8)).backward()
    count = len(tracker.memory_tracking)
    del model
    gc.collect()
    assert count == 7 and len(tracker.memory_tracking) == 0


def raising(*_):
    raise KeyError("on purpose")


def test_an_exception_leaves_nothing_to_the_next_scope():
    model, tracker = Net(), MemTracker()
    optimizer = torch.optim.SGD(model.parameters())
    with pytest.raises(KeyError), tracker:
        optimizer.step(raising)
    with tracker:
        kept = torch.ones(100)
        current = found(tracker.get_tracker_snapshot())
        assert current == {"Activation": 400, "Total": 400}
        del kept


def test_what_is_given_inside_of_the_scope_keeps_its_role():
    with MemTracker() as tracker:
        kept = torch.ones(100)
        tracker.track_external(kept)
        assert found(tracker.get_tracker_snapshot()) == {"Other": 400, "Total": 400}


@pytest.mark.parametrize("leaves", [False, True])
def test_a_failed_pass_leaves_nothing_to_the_next_one(leaves):
    first, other, tracker, seen = Block(), nn.Linear(4, 4), ModTracker(), []
    first.up.bias.register_hook(raising)

    def note(module, gradients):
        seen.append((tracker.get_known_fqn(module), sorted(tracker.parents)))

    tracker.register_user_hooks(post_bw_hook=note)
    with tracker:
        with pytest.raises(KeyError):
            first(torch.ones(2, 8)).sum().backward()
        assert "Block" in tracker.parents
        if not leaves:
            seen.clear()
            other(torch.ones(2, 4)).sum().backward()
    assert tracker.parents == {"Global"}
    if leaves:
        with tracker:
            seen.clear()
            other(torch.ones(2, 4)).sum().backward()
    assert seen == [("Linear", ["Global", "Linear"])]


def test_snapshots_are_printed(capsys):
    model, tracker = Net(), MemTracker()
    tracker.display_snapshot()
    assert capsys.readouterr().out == "No memory is tracked.\n"
    tracker.track_external(model)
    tracker.display_snapshot(units="KiB")
    shown = capsys.readouterr().out.splitlines()
    assert shown[0] == "Device: cpu" and "\tParameter: 4.31 KiB" in shown
    with tracker:
        model(torch.ones(2, 8))
    tracker.display_modulewise_snapshots(depth=2)
    shown = capsys.readouterr().out
    names = [line for line in shown.splitlines() if line.startswith("Module")]
    assert names == ["Module:  Net", "Module:  Net.a", "Module:  Net.b"]
    assert "Pre-Forward\n# 1:\nDevice: cpu\n\tParameter: 4416 B\n" in shown
    tracker.display_modulewise_snapshots(depth=1, tabulate=True)
    lines = capsys.readouterr().out.splitlines()
    assert lines[2].split()[:3] == ["State", "&", "Call"]
    assert any(line.startswith("Post-Forward # 1  cpu") for line in lines)
    tracker.display_snapshot(tabulate=True)
    assert capsys.readouterr().out.splitlines()[1].startswith("Device  Parameter")
    with pytest.raises(ValueError, match="units are one of B, KiB"):
        tracker.display_snapshot(units="kB")
    with pytest.raises(ValueError, match='"current" or "peak", not \'last\''):
        tracker.get_tracker_snapshot("last")
    with pytest.raises(TypeError, match="not a int"):
        tracker.track_external(3)


def test_hooks_run_around_modules():
    block, tracker, seen = Block(), ModTracker(), []

    def noting(what):
        def hook(module, *values):
            running = sorted(tracker.parents - {"Global"})
            seen.append((what, tracker.get_known_fqn(module), running, tracker.is_bw))

        return hook

    tracker.register_user_hooks(
        noting("before"), noting("after"), noting("back"), noting("done")
    )
    forward = [
        ("before", "Block", ["Block"], False),
        ("before", "Block.up", ["Block", "Block.up"], False),
        ("after", "Block.up", ["Block", "Block.up"], False),
        ("before", "Block.down", ["Block", "Block.down"], False),
        ("after", "Block.down", ["Block", "Block.down"], False),
        ("after", "Block", ["Block"], False),
    ]
    backward = [
        ("back", "Block", ["Block"], True),
        ("back", "Block.down", ["Block", "Block.down"], True),
        ("done", "Block.down", ["Block", "Block.down"], True),
        ("back", "Block.up", ["Block", "Block.up"], True),
    ]
    with tracker:
        block(torch.randn(4, 8)).sum().backward()  # no argument has a gradient
        assert seen == [
            *(*forward, *backward),
            ("done", "Block.up", ["Block", "Block.up"], True),
            ("done", "Block", ["Block"], True),
        ]
        assert tracker.parents == {"Global"}
        seen.clear()
        block(torch.randn(4, 8, requires_grad=True)).sum().backward()
        assert seen[:10] == [*forward, *backward]
        assert {each[:2] for each in seen[10:]} == {
            ("done", "Block"),
            ("done", "Block.up"),
        }
        assert tracker.get_known_fqn(nn.Linear(1, 1)) is None
        with pytest.raises(AssertionError, match="hook as pre_fw_hook"):
            tracker.register_user_hooks(pre_fw_hook=print)
        tracker.clear_user_hooks()
        seen.clear()
        block(torch.randn(4, 8))
        assert seen == []
