"""Streams and events of any device, and the classes of TorchScript's graphs."""

import pytest

import pellucid as torch


def test_a_stream_of_the_cpu_is_always_idle():
    stream = torch.Stream()
    assert stream == torch.Stream("cpu") and hash(stream) == hash(torch.Stream("cpu"))
    assert stream != torch.Stream("meta") and stream.query()
    assert (stream.device, stream.device_index) == (torch.device("cpu"), -1)
    with stream as entered:
        assert entered is stream
    numbered = torch.Stream(stream_id=3, device_index=0, device_type=0)
    assert repr(numbered) == (
        "torch.Stream device_type=cpu, device_index=0, stream_id=3"
    )


def test_the_classes_stand_in_annotations():
    assert not isinstance(3, torch.Stream | None)
    assert isinstance(torch.Event(), torch.Event | None)


def test_a_stream_number_needs_a_device():
    with pytest.raises(TypeError, match="device_index"):
        torch.Stream(stream_id=1)


@pytest.mark.parametrize("kind", [torch.Stream, torch.Event])
def test_devices_without_support_are_refused(kind):
    with pytest.raises(RuntimeError, match="cuda"):
        kind("cuda")


def test_the_cpu_records_no_events():
    event = torch.Event("cpu", enable_timing=True)
    assert event.query() and event.device.type == "cpu"
    for record in (event.record, torch.Stream().record_event):
        with pytest.raises(RuntimeError, match="doesn't support events"):
            record()
    with pytest.raises(ValueError, match="enable_timing=True"):
        event.elapsed_time(torch.Event())


def test_classes_of_script_graphs_exist():
    assert torch.Graph.__name__ == "Graph" and not isinstance(3, torch._C.Value)
    assert list(torch._C.Graph().nodes()) == []
