"""The functions that ``nn.functional`` gathers: see README.md."""
