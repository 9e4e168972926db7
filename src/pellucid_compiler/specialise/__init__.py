"""From an op and a key to the bytes that the runtime runs: tracing, lowering, encoding.

Called by tools/freeze.py while the package is built and by pellucid._C._runtime.tracing
on a key miss. It knows declare and the compiler's lowering, but neither the built
runtime nor LLVM. Read requests.py first, then graphs.py, scalars.py and derivatives.py.
"""
