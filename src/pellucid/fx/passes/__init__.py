"""``torch.fx.passes``: what reads or changes graphs as a whole."""
