"""What the machine's libraries can do, for programs that ask before they choose."""

from pellucid.backends import cuda, cudnn, mkl, mkldnn, mps, openmp

__all__ = ["cuda", "cudnn", "mkl", "mkldnn", "mps", "openmp"]
