// Reports kernel launches to code that wants to repeat them (plan/prepared.h).
#pragma once

#include <cstdint>

namespace pellucid {

struct KernelRef;

// Installed for a scope in ThreadState::launch_recorder; receives every kernel launch of its thread.
struct LaunchRecorder {
  virtual void launch(KernelRef& kernel, char* const* data, const int64_t* sizes, const int64_t* strides,
                      const uint64_t* params) = 0;
  virtual void share_work() = 0;  // the work that follows is distributed over several threads

 protected:
  ~LaunchRecorder() = default;
};

}  // namespace pellucid
