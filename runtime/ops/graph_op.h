// Ops defined by a Graph: find the plan for the call's key, run it, hand over the results.
//
// GraphData is attached to the op record. Plans come from the frozen file, decoded at first use, or from tracing
// (ops/trace.h) on a miss. Variants of one key differ by their guards.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "core/bounded_cache.h"
#include "core/op_record.h"
#include "plan/key_cache.h"
#include "plan/plan.h"
#include "plan/prepared.h"
#include "plan/result_layout.h"
#include "plan/tile_program.h"

namespace pellucid {

// A plan of one key; a key may have several variants, which differ by their guards.
struct PlanVariant {
  std::span<const uint8_t> encoded;  // until decoded; points into the mapped file, the op's own keys or `owned`
  std::string owned;
  std::shared_ptr<ProgramTable> programs;  // of a traced plan
  std::atomic<Plan*> plan{nullptr};        // decoded; owned
  ~PlanVariant() { delete plan.load(); }
};

// Of the frozen file: these live as long as the op and are found without a lock.
struct FrozenVariant {
  PlanVariant variant;
  std::unique_ptr<FrozenVariant> next;
};
struct FrozenVariants {
  std::atomic<FrozenVariant*> first{nullptr};
  ~FrozenVariants() { delete first.load(); }
};

// Traced plans. Shared, because calls and their prepared forms hold the plan that they run even after its key is
// evicted.
using TracedVariants = std::vector<std::shared_ptr<PlanVariant>>;

// The most keys per op for which traced plans are cached: 1,024, fewer in tests.
inline std::atomic<size_t> most_traced{1024};

struct GraphData : KindData {
  explicit GraphData(ResultLayout layout = ResultLayout::RowMajor, bool has_index = false)
      : layout(layout), has_index(has_index) {}

  const ResultLayout layout;
  const bool has_index;  // an argument says which elements are read or written
  std::atomic<bool> frozen_read = false;
  KeyCache<FrozenVariants> frozen;
  BoundedCache<KeyBuilder, std::atomic<std::shared_ptr<const TracedVariants>>> traced{most_traced};
  PreparedCalls prepared;
};

// Adds [[key, plan], ...] to the op's plans, all or, if it raises, none; `keys` must live as long as the op.
void add_plans(const OpRecord& op, GraphData& data, std::span<const uint8_t> keys);

// The boxed kernels of graph ops: on the CPU, and without memory on Meta.
void run_graph_op(OpCall& call, void*);
void run_graph_op_meta(OpCall& call, void*);
// If this call's plan on the CPU consists of passes over whole tensors that cannot fail once it is bound: the
// number of passes, with the results' sizes as Meta tensors in call.rets. Else 0.
size_t find_passes(OpCall& call);
// On a device with a backend: ops/device_op.h.
void run_graph_op_on(OpCall& call, Device device);

// Checks the destination of a result, the call's self or an out=, and resizes an out= to the result's shape.
void prepare_destination(const OpCall& call, TensorImpl& destination, const TensorImpl& result);

}  // namespace pellucid
