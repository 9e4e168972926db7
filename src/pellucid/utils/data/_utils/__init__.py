"""``torch.utils.data._utils``: internals of data loading that libraries import."""
