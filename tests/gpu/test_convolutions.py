"""Convolutions on the emulated GPU, in a process of their own."""

from tests.devices.programs import run


def test_convolutions_on_the_device():
    options = "-q", "--noconftest", "-p", "no:cacheprovider"
    output = run("-m", "pytest", *options, "tests/gpu/on_device_convolutions.py")
    assert output.startswith("." * 10), output
