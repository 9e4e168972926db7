"""``torch.fx.passes``: analyses and transforms of whole graphs."""
