#include "record/recorder.h"

#include "core/hooks.h"
#include "core/recording.h"
#include "core/thread_state.h"
#include "threads/fork_safe_mutex.h"

namespace pellucid::record {

std::shared_ptr<const void> (*find_place)() = nullptr;
void (*refuse_read)(const char* what) = nullptr;

namespace {

constexpr size_t kMostEvents = 4096;

// All recorders, and those whose threads have ended. None is freed: another thread may be about to run one that it
// found in the registry or in a recorded value. A new thread takes one that is unused.
FORK_SAFE ForkSafeMutex mutex;
struct Registry {
  std::vector<Recorder*> recorders, unused;
};
Registry& registry() {
  static auto* made = new Registry;
  return *made;
}

struct ThreadRecorder {
  Recorder* recorder = nullptr;
  ~ThreadRecorder() {
    if (!recorder) return;
    const std::lock_guard guard(mutex);
    Registry& all = registry();
    all.unused.push_back(recorder);
  }
};
thread_local ThreadRecorder of_thread;

}  // namespace

Recorder& Recorder::of_this_thread() {
  if (of_thread.recorder) return *of_thread.recorder;
  const std::lock_guard guard(mutex);
  Registry& all = registry();
  if (all.unused.empty()) {
    all.recorders.push_back(of_thread.recorder = new Recorder);
  } else {
    of_thread.recorder = all.unused.back();
    all.unused.pop_back();
    of_thread.recorder->reset();
  }
  return *of_thread.recorder;
}

void Recorder::reset() {
  counts_ = {};
  events_.clear();
  depth_ = 0;
  refuses_reads_ = watched_ = false;
  running = nullptr;
}

// The registry's lock is released first: running a segment takes the recorder's lock, which may be held for long.
void Recorder::run_readers(Storage& storage) {
  std::vector<Recorder*> recorders;
  {
    const std::lock_guard guard(mutex);
    Registry& all = registry();
    recorders = all.recorders;
  }
  for (Recorder* recorder : recorders)
    if (storage.awaited.load()) recorder->run("memory that recorded ops read is written");
}

std::unique_lock<std::recursive_mutex> Recorder::lock() {
  std::unique_lock guard(mutex_, std::try_to_lock);
  if (!guard) without_interpreter_lock([&] { guard.lock(); });
  return guard;
}

void Recorder::enter(bool refuses) {
  if (depth_++) return;
  refuses_reads_ = refuses;
  thread_state.include = thread_state.include | Key::Lazy;
}

void Recorder::finish(const char* reason) {
  try {
    if (depth_ == 1) run(reason);
  } catch (...) {
    leave();
    throw;
  }
  leave();
}

void Recorder::leave() noexcept {
  if (--depth_) return;
  refuses_reads_ = false;
  thread_state.include = thread_state.include - Key::Lazy;
}

void Recorder::watch(bool wanted) {
  watched_ = wanted;
  if (wanted) events_.clear();
}

void Recorder::note(Event::Kind kind, const OpRecord* op, int64_t numel, std::string reason) {
  if (!watched_ || events_.size() >= kMostEvents) return;
  events_.push_back({kind, op, numel, std::move(reason), find_place ? find_place() : nullptr});
}

// If only the recorder holds the tensor, the tensor's reference to the storage counts as the recorder's, too.
Holders Recorder::holders(const TensorImpl& tensor) {
  const Storage& storage = *tensor.storage;
  const auto* value = static_cast<const Value*>(storage.context);
  std::unique_lock<std::recursive_mutex> guard;  // another thread may run it
  if (value) guard = value->recorder->lock();
  const int of_tensor = tensor.refs.load(std::memory_order_acquire);
  const int of_storage = storage.refs.load(std::memory_order_acquire);
  if (!value || !is_recorded(tensor)) return {of_tensor, of_storage};
  const bool keeps_tensor = value->tensor->storage == &storage && value->tensor->unique();
  return {of_tensor - (value->tensor.get() == &tensor), of_storage - 1 - keeps_tensor};
}

void Recorder::clear() {
  for (Input& input : segment_->inputs) input.storage->awaited.fetch_sub(1, std::memory_order_relaxed);
  for (Value& value : segment_->values) {
    if (!value.tensor) continue;  // overwritten
    value.storage->context = nullptr;
    if (value.tensor->storage == value.storage.get() && value.storage->host)
      value.tensor->flags &= static_cast<uint16_t>(~TensorImpl::kNoMemory);
  }
  // Destroying tensors may call back into the recorder.
  std::unique_ptr<Segment> done = std::move(segment_);
  if (spares_.empty()) {
    segment_ = std::make_unique<Segment>();
  } else {
    segment_ = std::move(spares_.back());
    spares_.pop_back();
  }
  done->reset();
  spares_.push_back(std::move(done));
}

void Recorder::run(const char* reason) {
  std::vector<GroupEntry*> wanted;
  {
    const auto guard = lock();
    if (segment_->empty()) return;
    if (watched_) note(Event::Kind::Flushed, running, static_cast<int64_t>(segment_->nodes.size()), reason);
    const ExcludeKeys eager(Key::Lazy);
    const SegmentPlan& plan = plans_.plan_of(*segment_);
    if (!run_segment(*segment_, plan, counts_, wanted)) return;  // somebody else finished it meanwhile
    clear();
  }
  for (GroupEntry* entry : wanted) request_group(entry->number, entry->description);
}

}  // namespace pellucid::record
