// Called where Python reads the elements of a tensor: raises in a region that was compiled with fullgraph=True.
#pragma once

#include "core/recording.h"

namespace pellucid::python {

void refuse_read_in_region(const char* what);  // regions.cpp

// `what`: the method that reads, by a name that the user knows.
inline void note_value_read(const char* what) {
  refuse_replay("Python reads a value");
  if (thread_state.include.has(Key::Lazy)) [[unlikely]]
    refuse_read_in_region(what);
}

}  // namespace pellucid::python
