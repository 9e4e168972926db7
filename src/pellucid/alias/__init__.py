"""Makes ``import torch`` find Pellucid: an import finder, and a distribution of
torch.
"""
