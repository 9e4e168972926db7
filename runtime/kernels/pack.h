// The kernel pack: one mapped file of position-independent kernels per instruction-set level.
//
// Layout (little-endian): PackHeader, then the index sorted by id at `index_offset`, then the blobs
// at `blobs_offset`, 64-byte aligned. The file is written by src/pellucid_compiler/pack/kernel_pack.py. Header
// and bounds are checked when it is opened, a kernel's own bytes (CRC-32) when it is first used.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "kernels/kernel_ref.h"
#include "kernels/pack_file.h"

namespace pellucid {

// "x86-64-v4" or "x86-64-v3": the best level that both processor and system support and that the environment
// variable PELLUCID_ISA, if it is set, allows. Raises a Runtime error where it names no level that they support.
const char* isa_level();

// The levels above it that are supported and allowed, the lowest first; their packs hold products alone.
std::span<const char* const> product_levels();

// Maps the pack at `path`; later packs are searched before earlier ones. Raises a Runtime error that
// names the file when it is damaged or of another version.
void open_pack(const std::string& path);

// Null when no pack has it. Raises when the kernel's bytes are damaged.
KernelFunction find_in_packs(const KernelId& id);

// A copy of position-independent code in memory that can run; it stays mapped. `entry`: where the function starts.
KernelFunction map_code(const void* code, size_t nbytes, size_t entry);

uint32_t crc32(const void* data, size_t nbytes);

}  // namespace pellucid
