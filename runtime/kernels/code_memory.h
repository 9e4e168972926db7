// Memory for machine code: kernels of packs, and those compiled while the program runs.
#pragma once

#include <cstddef>
#include <span>

#include "kernels/kernel_ref.h"

namespace pellucid {

// A piece of a chunk: the same memory at two addresses, or at one until `seal` makes it executable. It is given back
// unless it is sealed.
class CodeRoom {
 public:
  explicit CodeRoom(size_t nbytes);
  ~CodeRoom();
  CodeRoom(const CodeRoom&) = delete;
  CodeRoom& operator=(const CodeRoom&) = delete;
  std::span<char> writable() const { return {writable_, nbytes_}; }
  char* seal();  // the address to call it at; the memory is never freed

 private:
  char* writable_;
  char* executable_;  // null: the pages are the kernel's own
  size_t nbytes_;
  bool is_sealed_ = false;
};

// Room for `nbytes` of position-independent code. `fill` writes it, and may raise: then nothing was called, and the room
// is given back. Returns the function at `entry`.
template <class Fill>
KernelFunction place_code(size_t nbytes, size_t entry, Fill fill) {
  CodeRoom room(nbytes);
  fill(room.writable());
  return reinterpret_cast<KernelFunction>(room.seal() + entry);
}

}  // namespace pellucid
