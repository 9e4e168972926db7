// The handler at Key::Lazy, and the hooks by which tensors without memory get it: recorded, or run now.
#include <algorithm>
#include <string_view>

#include "autograd/handler.h"
#include "core/dispatcher.h"
#include "core/hooks.h"
#include "core/recording.h"
#include "record/capture.h"
#include "record/recorder.h"

namespace pellucid::record {

namespace {

bool find_recorded(TensorImpl& tensor) {
  Storage& storage = *tensor.storage;
  if (storage.nbytes == 0 || storage.deleter) return false;
  const auto* value = static_cast<const Value*>(storage.context);
  if (!storage.host && !value) return false;
  // Another thread's run may have filled it and still have readers to run; the caller may be about to write to it.
  const bool is_others = value && value->recorder != &Recorder::of_this_thread();
  if (!storage.host || is_others) value->recorder->run("a recorded value is read");
  tensor.flags &= static_cast<uint16_t>(~TensorImpl::kNoMemory);
  return true;
}

class RunningOp {
 public:
  RunningOp(Recorder& recorder, const OpRecord* op) : recorder_(recorder), outer_(recorder.running) {
    recorder.running = op;
  }
  ~RunningOp() { recorder_.running = outer_; }

 private:
  Recorder& recorder_;
  const OpRecord* outer_;
};

int64_t elements_of(const OpCall& call) {
  int64_t numel = 0;
  for (int k = 0; k < call.num_args; ++k)
    if (call.args[k].is_tensor()) numel = std::max(numel, call.args[k].tensor->numel);
  return numel;
}

// Whether its kernel reads tensors through host() and calls Python only by dispatching.
bool is_own(const OpRecord& op) {
  constexpr std::string_view kOwn[] = {"aten::", "pellucid::", "derivative::"};
  return std::ranges::any_of(kOwn, [&](std::string_view space) { return op.qualified_name.starts_with(space); });
}

void handle_lazy(OpCall& call, void*) {
  const OpRecord& op = *call.op;
  const KeySet below = call.keys - Key::Lazy;
  if (op.kind == OpKind::Composite) {  // the ops it calls are recorded
    call.keys = below;
    const KernelEntry& entry = op.table[static_cast<int>(below.highest())];
    if (!entry.function) raise_no_kernel(call);
    entry.function(call, entry.context);
    if (Capture* capture = Capture::of_this_thread()) capture->see_results(call);
    return;
  }
  if (Capture* capture = Capture::of_this_thread()) return capture->run(call, below);
  Recorder& recorder = Recorder::of_this_thread();
  const bool is_plain = (below - kBackends).empty();
  const char* reason = is_plain ? recorder.record(call) : "a mode or a subclass sees it";
  if (!reason) return;
  if (op.kind == OpKind::DataDependent && recorder.refuses_reads() && refuse_read) refuse_read(op.schema.name.c_str());
  if (recorder.is_watched()) recorder.note(Event::Kind::Ran, &op, elements_of(call), reason);
  if (!is_plain || !is_own(op)) recorder.run("code that is not an op of Pellucid runs");
  // Launches are observed while a call is prepared: those of recorded ops must not be among them.
  if (preparation_request_of(call)) recorder.run("a call is being prepared for repeated calls");
  const RunningOp running(recorder, &op);
  const ExcludeKeys now(Key::Lazy);
  dispatch(call, below);
}

}  // namespace

void start_recording() {
  static const bool started = [] {
    core_hooks.find_recorded = find_recorded;
    core_hooks.run_readers = Recorder::run_readers;
    PreparedMap::record = [](const PreparedMap& map, OpCall& call, std::span<TensorImpl* const> tensors) {
      return Recorder::of_this_thread().record(map, call, tensors);
    };
    core_hooks.run_recorded = [] { Recorder::of_this_thread().run("other code begins"); };
    recording_hooks = {Recorder::holders,
                       [] { Recorder::of_this_thread().enter(false); },
                       [] { Recorder::of_this_thread().finish("the backward pass ends"); },
                       [](TensorImpl& leaf, TensorImpl* gradient) {
                         if (Capture* capture = Capture::of_this_thread()) capture->note_gradient(leaf, gradient);
                       },
                       [](TensorImpl& made, bool is_filled) {
                         if (Capture* capture = Capture::of_this_thread()) capture->note_made(made, is_filled);
                       },
                       [](const char* reason) {
                         if (Capture* capture = Capture::of_this_thread()) capture->fail(reason);
                       }};
    register_fallback(Key::Lazy, {handle_lazy, nullptr});
    return true;
  }();
  static_cast<void>(started);
}

}  // namespace pellucid::record
