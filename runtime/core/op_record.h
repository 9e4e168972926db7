// OpRecord: everything the runtime knows of one op overload. The runtime knows kinds, never ops.
//
// Records are made from the frozen file at import (ops/), by Library.define, and on demand for
// derivatives: the derivative of an op is an op. `table[key]` is what dispatch calls.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "abi/codes.h"
#include "abi/limits.h"
#include "core/keys.h"
#include "core/schema.h"

namespace pellucid {

struct OpRecord;

// A call in flight: boxed arguments (borrowed) and results (owned by the caller afterwards).
struct OpCall {
  const OpRecord* op;
  Value* args;
  Value* rets;
  uint8_t num_args;
  KeySet keys;  // the set that chose the running kernel
};

// `context` is what was registered with the function (a Python callable, a closure).
using BoxedKernel = void (*)(OpCall& call, void* context);

struct KernelEntry {
  BoxedKernel function = nullptr;
  void* context = nullptr;
};

struct KindData {
  virtual ~KindData() = default;
};  // PointwiseData, GraphData: defined in ops/ and kernels/

struct OpRecord {
  KernelEntry table[kNumKeys];
  KeySet registered;  // keys with an entry (fall-through entries are absent)
  Schema schema;
  OpKind kind = OpKind::Composite;
  Variant variant = Variant::Functional;
  CastRule cast_rule = CastRule::None;
  const OpRecord* functional = nullptr;  // for InPlace and Out: the record they derive from
  std::unique_ptr<KindData> kind_data;   // how the kind's handler runs it
  void* derivative = nullptr;            // autograd/derivative.h; null: not differentiable
  uint32_t unrecorded = 0;               // bits over the results that never have a gradient
  std::atomic<uint32_t> epoch{0};        // counts changes of `table`; a change invalidates prepared calls
  uint32_t id = 0;
  std::string qualified_name;      // "aten::add.Tensor"
  mutable void* python = nullptr;  // its callable in torch.ops, made at first use; python/op_overload.cpp
  std::string tags;                // PyTorch's tags, from the declaration: "core pointwise"
  bool is_defined = true;          // until `undefine_op`
  std::weak_ptr<OpRecord> self;    // of a record that lives only as long as it is owned (`define_owned_op`)
  // Where Python exposes it; taken from the declaration, read by the bindings.
  bool is_method = false;    // Tensor.name
  bool is_function = false;  // a function of `python_module`
  bool loose_tensors =
      false;  // the last positional list of tensors may be given as separate arguments: f(a, b) for f([a, b])
  bool gives_view = false;     // a composite whose result remains a view of what its body computed
  bool casts_out = true;       // results are converted to the dtypes of the tensors that they are written to
  bool writes_shared = false;  // in place also where elements share memory: those that it changes get equal values
  uint64_t out_dtypes = 0;     // bits over the only dtypes that out= may have; 0: as `casts_out` says
  std::string python_module;   // "": pellucid itself; "nn", "special", "linalg", ...
};

}  // namespace pellucid
