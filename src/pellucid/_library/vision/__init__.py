"""The ops of torchvision's compiled libraries, which cannot be loaded here.

``torch.ops.load_library`` calls ``define`` of ``regions.py`` for ``torchvision/_C.so``
and of ``images.py`` for ``torchvision/image.so``; torchvision's Python runs unmodified.
"""
