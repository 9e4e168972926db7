// The layout of a kernel pack: the header and the entries of its index.
//
// Generated from src/pellucid_compiler/abi/pack_file.py by tools/build.py: change it there.
// clang-format off
#pragma once

#include <cstdint>
#include "kernels/kernel_ref.h"

namespace pellucid {
struct PackHeader {
  char magic[8];  // PACK_MAGIC
  uint32_t version;  // PACK_VERSION
  uint32_t count;  // of kernels
  uint64_t index_offset;  // from the start of the file
  uint64_t blobs_offset;  // from the start of the file
  uint8_t sha256[32];  // of everything after the header
};
static_assert(sizeof(PackHeader) == 64);
struct PackEntry {
  KernelId id;  // the index is sorted by it
  uint64_t offset;  // from blobs_offset
  uint32_t stored;  // bytes of the blob in the file, from zlib
  uint32_t size;  // of the inflated blob
  uint32_t entry;  // where the function starts inside the blob
  uint32_t reserved;  // 0
};
static_assert(sizeof(PackEntry) == 40);
}  // namespace pellucid
