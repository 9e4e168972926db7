"""``torch.utils.data._utils``: the places where libraries look for parts of loading."""
