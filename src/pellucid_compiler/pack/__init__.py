"""LLVM text to machine code: linker, just-in-time compiler, kernel packs, cache."""
