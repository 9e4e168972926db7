"""What Python and C++ share: the binary encoding, the status codes of kernels."""
