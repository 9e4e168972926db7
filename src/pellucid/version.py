"""The version: that of the PyTorch API offered, with Pellucid's own after the plus.

Programs compare ``torch.__version__`` to decide what they may call, so its release part
is PyTorch's.
"""

pellucid = "0.1.0"
api = "2.13.0"
__version__ = f"{api}+pellucid.{pellucid}"
cuda = None
hip = None
xpu = None
debug = False

git_version = "unknown"
rocm = None

__all__ = ["__version__", "api", "cuda", "debug", "git_version", "hip", "pellucid"]
__all__ += ["rocm", "xpu"]
