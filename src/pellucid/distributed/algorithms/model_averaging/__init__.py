"""``torch.distributed.algorithms.model_averaging``: averages of parameters."""
