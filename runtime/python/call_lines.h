// The Python lines that call ops: numbered while the timeline records lines, and listed when a session ends.
#pragma once

#include <string>

#include "python/object.h"
#include "timeline/recorder.h"

namespace pellucid::python {

void read_line();

// Called where Python enters the runtime: the thread's next events belong to the calling line.
inline void note_line() {
  if (is_watched(kWatchLines | kWatchStacks)) [[unlikely]]
    read_line();
}

// Files below these folders are not the user's.
void set_package_folders(PyObject* folders);
// (first number, [(file, function, line, number of the next frame outwards or 0), ...])
Object listed_lines();
void forget_lines();  // after the last session

// For anomaly mode: a number of the innermost frames, valid as long as the process runs, and these as a traceback shows
// them, also while a Python error is passing. Both take the interpreter lock.
uint32_t number_of_stack();
std::string text_of_stack(uint32_t number);

}  // namespace pellucid::python
