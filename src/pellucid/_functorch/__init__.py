"""``torch._functorch``: forward and backward of a function as graphs for compilers."""
