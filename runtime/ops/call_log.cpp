#include "ops/call_log.h"

#include <algorithm>
#include <memory>

#include "core/dispatcher.h"
#include "core/error.h"
#include "kernels/pack.h"
#include "ops/trace.h"

namespace pellucid {

namespace {

struct CallLog {
  std::vector<LoggedCall> calls;
  int depth = 0;
  int token = 0;
};
thread_local CallLog* active = nullptr;

void enter(const OpCall& call, Key key, void*) {
  if (!active) return;
  active->calls.push_back({call.op->qualified_name, std::string(name(key)), active->depth++, plan_request(call, 0)});
}

void leave(const OpCall&, Key, bool, void*) {
  if (active) --active->depth;
}

}  // namespace

void start_call_log() {
  if (active) raise(ErrorKind::Runtime, "this thread's calls are already being recorded");
  active = new CallLog;
  active->token = add_dispatch_observer({enter, leave, nullptr});
}

std::vector<LoggedCall> stop_call_log() {
  if (!active) raise(ErrorKind::Runtime, "this thread's calls are not being recorded");
  const std::unique_ptr<CallLog> log(std::exchange(active, nullptr));
  remove_dispatch_observer(log->token);
  return std::move(log->calls);
}

bool is_logging_calls() { return active != nullptr; }

size_t num_logged_calls() { return active ? active->calls.size() : 0; }

bool has_machine_code(const std::string& kernel_id) {
  KernelId id;
  if (kernel_id.size() != id.size()) raise(ErrorKind::Value, "a kernel id has %zu bytes", id.size());
  std::ranges::copy(kernel_id, id.begin());
  return find_in_packs(id) != nullptr;
}

}  // namespace pellucid
