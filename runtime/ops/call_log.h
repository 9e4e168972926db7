// The calls of a thread, as explain wants them: op, key, depth, and the arguments as a trace request.
//
// While a log runs, every dispatch of its thread is recorded; other threads do not see it.
#pragma once

#include <string>
#include <vector>

#include "core/op_record.h"

namespace pellucid {

struct LoggedCall {
  std::string op, key;
  int depth;
  std::string request;  // [op reference, [argument, ...], 0], as trace.h encodes it
};

void start_call_log();  // raises when this thread has one already
std::vector<LoggedCall> stop_call_log();
// Whether machine code for a kernel is at hand; else its tile program runs.
bool has_machine_code(const std::string& kernel_id);

}  // namespace pellucid
