"""The engine: op declarations and the compiler that turns them into plans and kernels.

Pure Python, without the runtime and without the API package ``pellucid``, which it
never imports. Importing this package imports none of its parts; README.md says which
folder does what and which may import which.
"""
