"""``torch.numa``: processes on the CPUs near their GPU.

Read next: ``binding.py``.
"""
