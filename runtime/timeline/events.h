// What the timeline holds: events of 64 bytes, and lists of them that one thread writes and any may read.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace pellucid {

enum class EventKind : uint8_t {
  Call,     // `what`: the OpRecord; `sequence`: autograd's next number when it began
  Node,     // the engine's work for a node: an OpRecord or a text (kTextFlag); `sequence`: the node's own; `extra`:
            // when its own computation ended and gradients were handed on; `detail`: the backward pass's number
  Step,     // of a plan: the Step; `detail`: the driver of a product (routes.h)
  Share,    // a thread's part of a parallel region; `what`: that of the event around the region, of `detail`'s kind
  Prepare,  // traced, compiled or read: a text
  Read,     // Python read elements: a text
  Range,    // record_function: a text
  Module,   // a module was called: a text; `extra`: its number among the session's modules
  Collect,  // Python's garbage collector ran: a text
  Make,     // a storage: its address in `what`, its bytes
  Free,
  TakeBlock,  // of the allocator: its address in `what`, its bytes
  GiveBlock,
};

enum EventFlag : uint8_t {
  kRepeatedFlag = 1,    // of Call: an inline cache knew it
  kTextFlag = 2,        // `what` is a text of `shared_text`, else a pointer that the kind names
  kUnfinishedFlag = 4,  // it ended with an error
  kOwnerFlag = 8,       // of Share: the thread that called
};

constexpr uint32_t kNoEvent = UINT32_MAX;

struct TimelineEvent {
  uint64_t begin;  // in ticks
  uint64_t end;    // 0 while it runs
  const void* what;
  int64_t bytes;      // live bytes of the thread's storages: change from beginning to end
  uint64_t sequence;  // of autograd
  uint64_t extra;     // of the kind
  uint32_t parent;    // the event of this thread around it, or kNoEvent
  uint32_t line;      // of Python, as the bindings number them; 0: unknown
  uint32_t facts;     // where the thread's facts tell of the arguments; 0: nowhere
  EventKind kind;
  uint8_t flags;
  uint16_t detail;
};
static_assert(sizeof(TimelineEvent) == 64);

// A list that grows by chunks, which stay where they are. The owner appends; readers see `size()` entries.
template <class Entry, int kChunkLog2, size_t kMostChunks>
class ChunkedList {
 public:
  static constexpr size_t kChunk = size_t{1} << kChunkLog2;

  ~ChunkedList() {
    for (auto& chunk : chunks_) std::free(chunk.load(std::memory_order_relaxed));
  }

  // `count` entries in a row, at most a chunk. Null when the list is full or there is no memory.
  Entry* append(size_t count) {
    size_t size = size_.load(std::memory_order_relaxed);
    if ((size & (kChunk - 1)) + count > kChunk || !chunks_of(size)) [[unlikely]] {
      size = make_room(size, count);
      if (size == SIZE_MAX) return nullptr;
    }
    size_.store(size + count, std::memory_order_release);
    return chunks_of(size) + (size & (kChunk - 1));
  }
  Entry& operator[](size_t index) const { return chunks_of(index)[index & (kChunk - 1)]; }
  size_t size() const { return size_.load(std::memory_order_acquire); }
  void clear() { size_.store(0, std::memory_order_relaxed); }
  // Frees all chunks but the first; for the owner.
  void shrink() {
    for (size_t k = 1; k < kMostChunks && chunks_[k]; ++k) std::free(chunks_[k].exchange(nullptr));
  }
  // Touches the memory of the first entries, so that appending meets no page faults.
  bool warm_up() { return chunks_of(0) || make_room(0, 1) != SIZE_MAX; }

 private:
  Entry* chunks_of(size_t index) const { return chunks_[index >> kChunkLog2].load(std::memory_order_relaxed); }

  [[gnu::noinline]] size_t make_room(size_t size, size_t count) {
    if ((size & (kChunk - 1)) + count > kChunk) size = (size | (kChunk - 1)) + 1;
    const size_t number = size >> kChunkLog2;
    if (number >= kMostChunks || count > kChunk) return SIZE_MAX;
    if (!chunks_[number]) {
      void* memory = std::aligned_alloc(64, kChunk * sizeof(Entry));
      if (!memory) return SIZE_MAX;
      std::memset(memory, 0, kChunk * sizeof(Entry));
      chunks_[number].store(static_cast<Entry*>(memory), std::memory_order_release);
    }
    return size;
  }

  std::atomic<size_t> size_{0};
  std::atomic<Entry*> chunks_[kMostChunks] = {};
};

}  // namespace pellucid
