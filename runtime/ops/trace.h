// Cache misses: what the frozen file lacks is traced once in Python (pellucid._C._runtime.tracing) and returned
// as bytes.
//
// A request names the op and describes the arguments: tensors by dtype and sizes, numbers by value. No array data
// is passed; tracing needs no runtime. The bindings install the call into Python.
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

// `what`: "plan", "element_function", or the rule of a derivative: "vjp", "jvp" or "batch". Returns the encoded
// answer; raises what Python raised.
using TraceFunction = std::string (*)(std::string_view what, std::string_view request);
extern TraceFunction trace_function;

// The result of a trace, and the tile programs of its kernels: decode the answer within a ProgramScope of these.
struct Traced {
  std::string answer;
  std::shared_ptr<ProgramTable> programs;
  std::span<const uint8_t> bytes() const { return {reinterpret_cast<const uint8_t*>(answer.data()), answer.size()}; }
};
Traced opened(std::string_view answer);  // [what was traced, programs], as returned by Python

// An op reference is the frozen name, or the origin of a derivative op.
void encode_op_reference(Encoder& out, const OpRecord& op);
void encode_arguments(Encoder& out, const OpCall& call);
Traced trace(std::string_view what, const OpCall& call, int64_t mask = 0);
// For a pointwise op after promotion; tensors have compute dtypes.
Traced trace_pointwise(const OpCall& call, PointwiseKey key);
// The encoded requests: a PlanRequest, a FunctionRequest (abi/requests.py).
std::string plan_request(const OpCall& call, int64_t mask);
std::string pointwise_request(const OpCall& call, PointwiseKey key);

}  // namespace pellucid
