"""Batches in pinned memory, under PyTorch's name of the module."""

from pellucid.utils.data._pinning import pin_memory as pin_memory
