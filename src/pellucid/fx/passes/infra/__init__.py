"""``torch.fx.passes.infra``: pass objects, the pass manager, the partitioner."""
