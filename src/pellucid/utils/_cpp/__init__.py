"""The implementation of ``torch.utils.cpp_extension``: headers, compiler, loading."""
