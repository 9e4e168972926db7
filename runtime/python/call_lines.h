// Which line of Python calls: read while the timeline records lines, numbered, and told when a session ends.
#pragma once

#include "python/object.h"
#include "timeline/recorder.h"

namespace pellucid::python {

void read_line();

// Where Python enters the runtime: the thread's events are from now on of the line that called.
inline void note_line() {
  if (is_watched(kWatchLines | kWatchStacks)) [[unlikely]]
    read_line();
}

// Files below these folders are not the user's.
void set_package_folders(PyObject* folders);
// (first number, [(file, function, line, number of the next frame outwards or 0), ...])
Object listed_lines();
void forget_lines();  // once no session is left

}  // namespace pellucid::python
