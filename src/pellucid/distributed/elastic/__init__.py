"""``torch.distributed.elastic``: what programs of the launcher import."""
