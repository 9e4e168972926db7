"""What ``torch.utils.cpp_extension`` is made of: headers, compilers, loading."""
