// Small storages in one block with their data: the hot part of allocate_storage, for tensor.cpp.
#pragma once

#include <new>

#include "core/allocator.h"
#include "core/storage.h"

namespace pellucid {

// Up to here header and data share a block; larger data gets blocks of its own, so that sizes which
// are powers of two do not spill into the next class.
constexpr size_t kInlineStorage = 4096 - sizeof(Storage);

// `nbytes` from 1 to kInlineStorage, on the CPU.
inline Storage* allocate_inline_storage(size_t nbytes) {
  const size_t total = sizeof(Storage) + nbytes;
  const int klass = static_cast<int>((total - 1) / 64);
  auto* storage = new (allocate_block(total, klass)) Storage;
  storage->data = storage + 1;
  storage->nbytes = nbytes;
  storage->size_class = storage->header_class = static_cast<int16_t>(klass);
  return storage;
}

}  // namespace pellucid
