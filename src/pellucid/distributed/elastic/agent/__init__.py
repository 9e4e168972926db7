"""``torch.distributed.elastic.agent``: the agent of a machine is in ``server``."""
