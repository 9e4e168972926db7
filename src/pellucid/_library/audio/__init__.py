"""The ops of torchaudio's compiled libraries, which cannot be loaded here.

``torch.ops.load_library`` calls ``define`` of ``filters.py`` for ``libtorchaudio`` and
of ``queries.py`` for ``_torchaudio``; torchaudio's Python runs unmodified.
"""
