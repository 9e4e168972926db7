// Regions of compiled callables, as seen by the layers below record/.
#pragma once

#include <utility>

#include "core/tensor.h"
#include "core/thread_state.h"

namespace pellucid {

// Ops on fewer elements run immediately: recording would save less than a launch costs.
constexpr int64_t kLeastRecorded = 2048;

// Whether this thread's ops are recorded, to be run together later.
inline bool in_region() { return (thread_state.include - thread_state.exclude).has(Key::Lazy); }

// Whether a recorded op has yet to fill the tensor's memory.
inline bool is_recorded(const TensorImpl& tensor) {
  return tensor.flags & TensorImpl::kNoMemory && !tensor.wrapper && tensor.keys.has(Key::CPU) && tensor.storage &&
         !tensor.storage->host && !tensor.storage->deleter && tensor.storage->context;
}

// How many references to a tensor and to its storage the program holds, not counting recorders'.
struct Holders {
  int of_tensor, of_storage;
};

// Installed by record/ when the first region is entered.
struct RecordingHooks {
  Holders (*holders)(const TensorImpl& recorded) = nullptr;
  void (*enter)() = nullptr;
  void (*leave)() = nullptr;  // runs what was recorded; leaves the region even if that throws
  // For calls that are captured to be replayed (record/capture.h). A leaf got another gradient, or none:
  void (*note_gradient)(TensorImpl& leaf, TensorImpl* gradient) = nullptr;
  // No op made this tensor; its contents are always the same, or will be written before they are read:
  void (*note_made)(TensorImpl& made, bool is_filled) = nullptr;
  // Something happened that a replay would miss:
  void (*refuse_replay)(const char* reason) = nullptr;
};
extern RecordingHooks recording_hooks;

inline void note_gradient(TensorImpl& leaf, TensorImpl* gradient) {
  if (thread_state.include.has(Key::Lazy)) [[unlikely]]
    recording_hooks.note_gradient(leaf, gradient);
}
inline void note_made(TensorImpl& made, bool is_filled) {
  if (thread_state.include.has(Key::Lazy)) [[unlikely]]
    recording_hooks.note_made(made, is_filled);
}
inline void refuse_replay(const char* reason) {
  if (thread_state.include.has(Key::Lazy)) [[unlikely]]
    recording_hooks.refuse_replay(reason);
}

inline Holders holders_of(const TensorImpl& tensor) {
  if (is_recorded(tensor)) [[unlikely]]
    return recording_hooks.holders(tensor);
  const Storage& storage = *tensor.storage;
  return {tensor.refs.load(std::memory_order_acquire),
          storage.refs.load(std::memory_order_acquire) - storage.awaited.load(std::memory_order_acquire)};
}

// A region for code that may continue the region of a compiled callable; does nothing inside another region.
class JoinedRegion {
 public:
  explicit JoinedRegion(bool wanted)
      : is_entered_(wanted && recording_hooks.enter && !thread_state.include.has(Key::Lazy) &&
                    !thread_state.exclude.has(Key::Lazy)) {
    if (is_entered_) recording_hooks.enter();
  }
  JoinedRegion(const JoinedRegion&) = delete;
  JoinedRegion& operator=(const JoinedRegion&) = delete;
  void finish() {
    if (std::exchange(is_entered_, false)) recording_hooks.leave();
  }
  ~JoinedRegion() {
    try {
      finish();
    } catch (...) {  // another error is propagating; ops that did not run will run when their results are read
    }
  }

 private:
  bool is_entered_;
};

}  // namespace pellucid
