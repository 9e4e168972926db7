// The kernel pack: one mapped file of position-independent kernels per instruction-set level.
//
// Layout (little-endian): PackHeader, then the index sorted by id at `index_offset`, then the blobs at `blobs_offset`,
// one after another. Each is a zlib stream. The file is written by src/pellucid_compiler/pack/kernel_pack.py. Header and
// bounds are checked when it is opened; when a kernel is first used, its blob's bounds and zlib's Adler-32 are.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "kernels/kernel_ref.h"
#include "kernels/pack_file.h"

namespace pellucid {

// "x86-64-v4" or "x86-64-v3": the best level that processor and system support and that the environment variable
// PELLUCID_ISA, if set, allows. Raises a Runtime error if it names an unsupported level.
const char* isa_level();

// The supported and allowed levels above it, lowest first; their packs contain only products.
std::span<const char* const> product_levels();

// Maps the pack at `path`; later packs are searched before earlier ones. Raises a Runtime error that names the
// file if it is damaged or has another version.
void open_pack(const std::string& path);

// Loads the kernel at first use; null if no pack has it. Raises if its bytes are damaged.
KernelFunction find_in_packs(const KernelId& id);
bool is_packed(const KernelId& id);

}  // namespace pellucid
