// Misses: what the frozen file lacks is traced once in Python (pellucid._C._runtime.tracing) and comes back as bytes.
//
// A request names the op and describes the arguments: tensors by dtype and sizes, numbers by value.
// No array crosses; tracing needs no runtime. The bindings install the call into Python.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/op_record.h"
#include "kernels/element_function.h"
#include "plan/decode.h"
#include "plan/tile_program.h"

namespace pellucid {

// `what`: "plan", "element_function", or the rule of a derivative: "vjp", "jvp" or "batch". Returns the encoded answer; raises what Python raised.
using TraceFunction = std::string (*)(std::string_view what, std::string_view request);
extern TraceFunction trace_function;

// What a trace gave, and the tile programs of the kernels in it: who decodes it does so in a ProgramScope of these.
struct Traced {
  std::string answer;
  std::shared_ptr<ProgramTable> programs;
  std::span<const uint8_t> bytes() const { return {reinterpret_cast<const uint8_t*>(answer.data()), answer.size()}; }
};
Traced opened(std::string_view answer);  // [what was traced, programs], as Python gives it

// An op reference is the frozen name, or how a derivative op was made.
void encode_op_reference(Encoder& out, const OpRecord& op);
void encode_arguments(Encoder& out, const OpCall& call);
Traced trace(std::string_view what, const OpCall& call, int64_t mask = 0);
// For a pointwise op after promotion; tensors have compute dtypes.
Traced trace_pointwise(const OpCall& call, PointwiseKey key);
// What these ask Python: a PlanRequest, a FunctionRequest (abi/requests.py).
std::string plan_request(const OpCall& call, int64_t mask);
std::string pointwise_request(const OpCall& call, PointwiseKey key);

}  // namespace pellucid
