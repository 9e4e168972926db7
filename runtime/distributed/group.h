// One rank's end of a group: the phases in which the ranks synchronise, and the collectives that consist of phases.
//
// In a phase, every rank writes its slot, arrives, waits for all ranks and reads their slots. Two slots alternate, so
// one wait per phase is enough: before a rank overwrites a slot it has waited for ranks that finished reading it.
// The first phase of a collective carries a header. All ranks compare all headers, so a mismatch fails on every rank
// and the group stays usable. Any other failure ends the group.
//
// Calls to one group are serialised by the caller, from any thread. No call needs the interpreter.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "distributed/reduction.h"
#include "distributed/segment.h"
#include "distributed/waiting.h"

namespace pellucid::distributed {

enum class Kind : uint8_t {
  Barrier,
  AllReduce,
  Reduce,
  Broadcast,
  AllGather,
  Gather,
  Scatter,
  ReduceScatter,
  AllToAll,
};
constexpr int kNumKinds = 9;

// `count`: elements that one rank sends to, or receives from, each other rank.
struct Call {
  Kind kind = Kind::Barrier;
  DType dtype = DType::UInt8;
  Reduction reduction = Reduction::Sum;
  int root = -1;
  int64_t count = 0;
  double factor = 1;  // of PremulSum; differs between ranks
  const char* input = nullptr;
  char* output = nullptr;
};

// Notified while a rank waits for others; raises Failure{Interrupted} to stop the wait. `notifies`: once a wait, after
// some seconds.
struct Observer {
  virtual ~Observer() = default;
  virtual void waiting(double seconds, bool notifies, const std::vector<int>& missing) = 0;
};

class Group {
 public:
  Group(int descriptor, int rank, int size, std::span<const int> pids, Observer& observer);

  void run(const Call& call, double timeout);
  // Elements are single bytes; one size per rank. Each pair of ranks must agree on the size of its message.
  void all_to_all(const char* input, std::span<const int64_t> input_sizes, char* output,
                  std::span<const int64_t> output_sizes, double timeout);
  // Gathers one text per rank, for error messages, without comparing headers.
  std::vector<std::string> exchange_texts(const std::string& text, double timeout);

  // Maps shared memory with one part per rank, and returns this rank's part. all_reduce of tensors in it copies
  // nothing. All ranks add their blocks in the same order.
  char* add_block(int descriptor, size_t nbytes);

  void set_presence(Presence presence) { segment_.page(rank_).presence = presence; }
  // Interrupts the current wait, of another thread, and every later one.
  void stop() { stops_ = true; }
  std::vector<uint32_t> phases() const;
  const Processes& processes() const { return processes_; }
  const Segment& segment() const { return segment_; }
  // Whether none of the missing ranks last ran on this thread's core, which they may be waiting for.
  bool may_spin(auto is_missing) const {
    const int core = current_core();
    for (int rank = 0; rank < size_; ++rank)
      if (rank != rank_ && segment_.page(rank).core.load(std::memory_order_relaxed) == core && is_missing(rank))
        return false;
    return true;
  }
  Observer& observer() const { return observer_; }
  int rank() const { return rank_; }
  int size() const { return size_; }
  // Raises Failure when a missing rank can no longer arrive, or when the deadline has passed.
  void check(const std::function<bool(int)>& is_missing, double start, double timeout, bool& has_notified) const;

 private:
  struct Block {
    std::unique_ptr<Mapping> mapping;
    size_t nbytes;  // of one rank's part
    char* part(int rank) const { return mapping->data() + static_cast<size_t>(rank) * nbytes; }
  };
  struct Header;
  struct Place {
    int64_t block, offset;
  };

  char* payload(int rank) const { return segment_.slot(rank, phase_) + kHeaderBytes; }
  char* next_payload() const { return segment_.slot(rank_, phase_ + 1) + kHeaderBytes; }
  // Writes the header into this rank's next slot; the next phase compares the headers.
  void begin(const Call& call, double timeout, Place place = {-1, 0});
  void meet();
  void compare_headers();
  // Per chunk: `write` fills the next slot with at most `limit` bytes, all ranks meet, `read` reads the slots.
  template <class Write, class Read>
  void in_chunks(int64_t nbytes, int64_t limit, Write write, Read read);
  void all_reduce(const Call& call);
  void all_reduce_in_slices(const Call& call);
  void all_reduce_in_place(const Call& call);
  void reduce(const Call& call);
  void broadcast(const Call& call);
  void gather(const Call& call);
  void scatter(const Call& call);
  void reduce_scatter(const Call& call);
  // Whether to read operands of this size directly from the other processes (process_vm_readv): one copy in place of
  // two, and fewer waits. The ranks agree once whether the system permits it, after every rank has tried.
  bool reads_operands(int64_t nbytes);
  void read_from(int rank, const char* address, char* target, int64_t nbytes) const;
  // Combines `nbytes` of every rank's input, from byte `begin` on, into `output`.
  void combine_read(const Call& call, int64_t begin, int64_t nbytes, char* output);
  void all_reduce_by_reading(const Call& call);
  void gather_by_reading(const Call& call);
  void reduce_scatter_by_reading(const Call& call);
  // One operand per rank: `own` for this rank, the slots for the others.
  std::vector<const char*> sources(int64_t offset, const char* own) const;
  Place find_place(const Call& call) const;

  int rank_, size_;
  Segment segment_;
  Processes processes_;
  Observer& observer_;
  bool share_cores_;  // whether there are more ranks than cores
  uint32_t phase_ = 0;
  uint64_t sequence_ = 0;
  double timeout_ = 0;
  std::atomic<bool> stops_{false};
  bool compares_ = false;  // whether the next phase compares the headers
  std::vector<Block> blocks_;
  std::vector<double> factors_;
  std::optional<bool> can_read_;
  std::vector<const char*> inputs_, outputs_;  // per rank, in that rank's address space
};

double seconds_now();

}  // namespace pellucid::distributed
