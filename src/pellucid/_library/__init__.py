"""``torch._library``: ops that are defined in Python, behind ``torch.library``."""
