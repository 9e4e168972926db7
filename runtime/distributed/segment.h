// The shared memory of a group's ranks on one machine, and its layout.
//
// It is an anonymous file (memfd) that ranks open through /proc, so nothing has a name in /dev/shm and the memory is
// freed with the last process. Per rank: a control page, two slots, and one mailbox per other rank.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "distributed/waiting.h"

namespace pellucid::distributed {

constexpr size_t kSlotBytes = 2 * 1024 * 1024;
constexpr size_t kHeaderBytes = 64;  // at the start of a slot
constexpr size_t kMailboxBytes = 64 * 1024;
constexpr size_t kTextBytes = 3072;

enum class Presence : uint32_t { Joining, Here, Left, Failed };

struct alignas(4096) RankPage {
  Bell arrived;   // phases that the rank has arrived at
  Bell post;      // rung when one of its mailboxes has changed
  Bell question;  // rung by a rank that asks where this rank is in its program
  std::atomic<Presence> presence;
  std::atomic<uint32_t> num_answers;
  std::atomic<int> core;  // on which it last arrived
  char answer[kTextBytes];
};

// A ring buffer of bytes from one rank to another.
struct Mailbox {
  alignas(64) std::atomic<uint64_t> num_written;
  alignas(64) std::atomic<uint64_t> num_read;
  alignas(64) char data[kMailboxBytes];
};

// A shared mapping of a file descriptor.
class Mapping {
 public:
  Mapping(int descriptor, size_t nbytes);  // throws std::system_error
  ~Mapping();
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  char* data() const { return data_; }

 private:
  char* data_;
  size_t nbytes_;
};

// An anonymous file of `nbytes` zeros. Throws std::system_error.
int make_shared_file(size_t nbytes);

class Segment {
 public:
  static size_t bytes_for(int size);
  Segment(int descriptor, int size) : size_(size), mapping_(descriptor, bytes_for(size)) {}

  RankPage& page(int rank) const { return reinterpret_cast<RankPage*>(mapping_.data())[rank]; }
  char* slot(int rank, uint32_t phase) const;
  Mailbox& mailbox(int source, int target) const;

 private:
  int size_;
  Mapping mapping_;
};

}  // namespace pellucid::distributed
