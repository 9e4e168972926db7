"""The twin, once per process: its memory ends the process when the CPU touches it."""

import functools

import pytest

import pellucid as torch


@functools.cache
def register():
    torch.devices.register_twin()
    return torch.device("twin:0")


@pytest.fixture
def twin():
    return register()
