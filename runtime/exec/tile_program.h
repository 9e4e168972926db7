// Tile programs: how a kernel runs that has no machine code here (compiler/lower/tile.py writes them).
#pragma once

#include <cstdint>
#include <span>

#include "kernels/kernel_ref.h"

namespace pellucid {

// Gives `kernel` the program that replaces it; decoded on first use. Empty: it has none.
// The bytes must outlive the kernel, or be copied here: they are copied.
void attach_program(KernelRef& kernel, std::span<const uint8_t> encoded);

// Makes KernelRef::interpret run tile programs; called once, at import.
void install_tile_interpreter();

}  // namespace pellucid
