"""``torch.utils.deterministic``: a setting that programs write.

In PyTorch it says whether deterministic algorithms fill new memory with NaN, so that a
program that reads it is found. Memory is not filled here: what is written is kept, and
changes nothing.
"""

fill_uninitialized_memory = False
