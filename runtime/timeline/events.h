// The timeline's data: events of 64 bytes, and lists of them that one thread writes and any thread may read.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace pellucid {

enum class EventKind : uint8_t {
  Call,     // `what`: the OpRecord; `sequence`: autograd's next number at its start; `extra`: the dispatch keys whose
            // handlers ran, as a set
  Node,     // the engine's work for a node: an OpRecord or a text (kTextFlag); `sequence`: the node's own; `extra`:
            // when its own computation ended and gradients were handed on; `detail`: the backward pass's number
  Step,     // of a plan: the Step; `detail`: the driver of a product (routes.h)
  Share,    // a thread's part of a parallel region; `what`: that of the enclosing event, which is of `detail`'s kind
  Prepare,  // traced, compiled or read: a text
  Read,     // Python read elements: a text
  Range,    // record_function: a text; `sequence` as of calls
  Module,   // a call of a module: a text; `extra`: its number among the session's modules
  Collect,  // a run of Python's garbage collector: a text
  Make,     // a storage: `what` is its address, `bytes` its size
  Free,
  TakeBlock,  // of the allocator: `what` is its address, `bytes` its size
  GiveBlock,
  Note,  // what an op that is implemented in Python says about its call: a text
};

enum EventFlag : uint8_t {
  kRepeatedFlag = 1,    // of Call: it hit an inline cache
  kTextFlag = 2,        // `what` is a `shared_text`, else a pointer whose type depends on the kind
  kUnfinishedFlag = 4,  // it ended with an error
  kOwnerFlag = 8,       // of Share: this is the calling thread
};

constexpr uint32_t kNoEvent = UINT32_MAX;

struct TimelineEvent {
  uint64_t begin;  // in ticks
  uint64_t end;    // 0 while it runs
  const void* what;
  int64_t bytes;      // change of the thread's live storage bytes from start to end
  uint64_t sequence;  // of autograd
  uint64_t extra;     // depends on the kind
  uint32_t parent;    // the enclosing event of this thread, or kNoEvent
  uint32_t line;      // a Python line, as numbered by the bindings; 0: unknown
  uint32_t facts;     // offset of the arguments in the thread's facts; 0: none
  EventKind kind;
  uint8_t flags;
  uint16_t detail;
};
static_assert(sizeof(TimelineEvent) == 64);

// A list that grows by chunks, which never move. The owner appends; readers see `size()` entries.
template <class Entry, int kChunkLog2, size_t kMostChunks>
class ChunkedList {
 public:
  static constexpr size_t kChunk = size_t{1} << kChunkLog2;

  ~ChunkedList() {
    for (auto& chunk : chunks_) std::free(chunk.load(std::memory_order_relaxed));
  }

  // Appends `count` contiguous entries, at most a chunk. Null if the list is full or memory is exhausted.
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
  // Touches the memory of the first entries, so that appending causes no page faults.
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
