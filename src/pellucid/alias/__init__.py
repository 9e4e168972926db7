"""What makes ``import torch`` find Pellucid: a finder, and a distribution of torch."""
