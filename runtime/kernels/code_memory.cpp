// A chunk is mapped twice, for writing and for execution, so that no page is both; many kernels share its pages, and
// with them the processor's entries for pages and lines. Where the system refuses that, each kernel has pages of its
// own, which are written before they become executable.
#include "kernels/code_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>

#include "abi/limits.h"
#include "core/error.h"
#include "threads/fork_safe_mutex.h"

namespace pellucid {
namespace {

constexpr size_t kChunk = size_t{1} << 20;

struct Chunk {
  char* writable = nullptr;
  char* executable = nullptr;
  size_t used = 0, nbytes = 0;
  pid_t owner = 0;  // after a fork both processes see the memory: only the one that made it goes on filling it
};

FORK_SAFE ForkSafeMutex mutex;
Chunk current;

char* map(size_t nbytes, int protection, int flags, int file) {
  void* memory = mmap(nullptr, nbytes, protection, flags, file, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<char*>(memory);
}

size_t room_for(size_t nbytes) { return (nbytes + kCodeAlignment - 1) / kCodeAlignment * kCodeAlignment; }

bool start_chunk(size_t nbytes) {
  const int file = memfd_create("pellucid kernels", MFD_CLOEXEC);
  if (file < 0) return false;
  Chunk made{nullptr, nullptr, 0, nbytes, getpid()};
  if (ftruncate(file, static_cast<off_t>(nbytes)) == 0) {
    made.writable = map(nbytes, PROT_READ | PROT_WRITE, MAP_SHARED, file);
    made.executable = map(nbytes, PROT_READ | PROT_EXEC, MAP_SHARED, file);
  }
  close(file);
  if (!made.writable || !made.executable) {
    if (made.writable) munmap(made.writable, nbytes);
    if (made.executable) munmap(made.executable, nbytes);
    return false;
  }
  current = made;
  return true;
}

}  // namespace

CodeRoom::CodeRoom(size_t nbytes) : nbytes_(nbytes) {
  const size_t room = room_for(nbytes);
  std::lock_guard lock(mutex);
  const bool fits = current.owner == getpid() && room <= current.nbytes - current.used;
  if (fits || start_chunk(std::max(room, kChunk))) {
    writable_ = current.writable + current.used;
    executable_ = current.executable + current.used;
    current.used += room;
    return;
  }
  writable_ = map(nbytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
  executable_ = nullptr;
  if (!writable_) raise(ErrorKind::OutOfMemory, "no memory for a kernel of %zu bytes", nbytes);
}

// The end of a chunk is used again; before it, rooms of other threads may follow.
CodeRoom::~CodeRoom() {
  if (is_sealed_) return;
  if (!executable_) {
    munmap(writable_, nbytes_);
    return;
  }
  const size_t room = room_for(nbytes_);
  std::lock_guard lock(mutex);
  if (current.owner == getpid() && writable_ + room == current.writable + current.used) current.used -= room;
}

char* CodeRoom::seal() {
  if (!executable_ && mprotect(writable_, nbytes_, PROT_READ | PROT_EXEC) != 0)
    raise(ErrorKind::Runtime, "the system refuses to allocate executable memory");
  is_sealed_ = true;
  return executable_ ? executable_ : writable_;
}

}  // namespace pellucid
