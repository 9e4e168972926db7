"""``torch.ao.ns``: what quantized models compute, beside the float models."""
