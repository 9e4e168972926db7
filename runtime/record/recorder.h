// Recorder: one per thread that runs compiled callables. In a region, elementwise ops over many elements and anchors
// are recorded instead of run. They run together when the memory of a result is needed, before memory that they read is
// written, and at the region's end.
//
// A recorded result is a tensor whose storage has no memory yet (TensorImpl::kNoMemory) and points to its Value. Other
// threads may need its memory too: a lock guards the segment. A run that a signal handler or an error interrupts is
// continued by the next one.
//
// A tensor that is written in place and shares its memory with no other tensor becomes a recorded result, too. Until
// the write has run, its memory belongs to an input of the segment.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/op_record.h"
#include "core/recording.h"
#include "kernels/prepared_map.h"
#include "record/run.h"

namespace pellucid::record {

// What happened in a region, for explain; collected while the recorder is watched.
struct Event {
  enum class Kind : uint8_t { Recorded, Ran, Flushed };
  Kind kind;
  const OpRecord* op;  // of Flushed: the op that needed a value, or null if Python did
  int64_t numel;       // of Flushed: the number of ops that ran
  std::string reason;
  std::shared_ptr<const void> place;  // from `find_place`
};

class Recorder {
 public:
  static Recorder& of_this_thread();
  // Runs the recorders of all threads that may have recorded a reader of `storage`.
  static void run_readers(Storage& storage);
  // The holders of a value of any thread, without its recorder's own references.
  static Holders holders(const TensorImpl& tensor);

  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // Regions nest; the outermost decides. `refuses_reads`: raise where Python reads a value.
  void enter(bool refuses_reads);
  // Leaves the region, and runs the remaining ops if it was the outermost. Leaves it even if that throws.
  void finish(const char* reason);
  int depth() const { return depth_; }
  bool refuses_reads() const { return refuses_reads_; }

  // Records the call and sets its results. Returns null, or why the call must run now.
  const char* record(OpCall& call);
  // The same for a prepared call; false if it was not recorded.
  bool record(const PreparedMap& map, OpCall& call, std::span<TensorImpl* const> tensors);
  // Runs all recorded ops. Afterwards, every live value has memory.
  void run(const char* reason);
  // The number of the value that `tensor` is, as a whole, or -1.
  int find_value(const TensorImpl& tensor) const;

  const Counts& counts() const { return counts_; }
  void watch(bool wanted);
  bool is_watched() const { return watched_; }
  void note(Event::Kind kind, const OpRecord* op, int64_t numel, std::string reason);
  std::vector<Event> take_events() { return std::move(events_); }

  const OpRecord* running = nullptr;  // the op that runs unrecorded, which may need memory of values

 private:
  Recorder() = default;
  // Forgets what the thread that had it before left: counts, events, regions.
  void reset();
  std::unique_lock<std::recursive_mutex> lock();
  void leave() noexcept;
  bool is_full() const;
  const char* record_anchor(OpCall& call);
  void fill_view(TensorImpl& tensor) const;
  Operand operand_of(TensorImpl& tensor);
  uint8_t space_of(std::span<const int64_t> sizes);
  Node& add_node(const OpRecord& op, uint8_t space);
  void add_node(const OpRecord& op, const ElementFunction& function, uint8_t space, const uint64_t* params);
  bool has_memory_alone(const TensorImpl& self) const;
  void rebind(Storage& from, Storage& to);
  Operand take_memory(TensorImpl& self);
  template <class TensorAt>
  bool add_write(OpCall& call, const ElementFunction& function, const uint64_t* params, TensorImpl& self,
                 TensorAt&& tensor_at);
  void overwrite(pellucid::Value& result, TensorImpl& self, uint8_t space);
  void give_result(pellucid::Value& result, Tensor tensor, uint8_t space);
  void clear();

  std::recursive_mutex mutex_;
  std::unique_ptr<Segment> segment_ = std::make_unique<Segment>();
  std::vector<std::unique_ptr<Segment>> spares_;
  SegmentPlans plans_;
  Counts counts_;
  std::vector<Event> events_;
  int depth_ = 0;
  bool refuses_reads_ = false, watched_ = false;
};

// Installs the hooks and the handler at Key::Lazy. Called when the first region is entered.
void start_recording();

// The current place in the Python program, which the bindings can describe. Installed by them.
extern std::shared_ptr<const void> (*find_place)();
// Raises because a region with `refuses_reads` reads a value. Installed by the bindings.
extern void (*refuse_read)(const char* what);

}  // namespace pellucid::record
