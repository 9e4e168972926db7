// Records a thread's calls for explain: op, key, depth, and the arguments as a trace request.
//
// While a log is active, every dispatch of its thread is recorded; other threads are not affected.
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

void start_call_log();  // raises if this thread already has one
std::vector<LoggedCall> stop_call_log();
bool is_logging_calls();
size_t num_logged_calls();  // of this thread so far; 0 without a log
// Whether machine code for a kernel is available; otherwise its tile program runs.
bool has_machine_code(const std::string& kernel_id);

}  // namespace pellucid
