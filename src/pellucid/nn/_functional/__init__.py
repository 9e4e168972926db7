"""The implementation of ``nn.functional``, which re-exports it: see README.md."""
