// Prepared pointwise calls: one kernel call with precomputed sizes, strides and numbers.
//
// Calls that broadcast or mix dtypes or layouts take the general path. A repeated call that has few enough
// elements for one thread, and that was a single kernel call over its operands' own memory, runs from here. Used
// by kernels/pointwise.cpp.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "core/call_facts.h"
#include "core/launch.h"
#include "core/tensor.h"
#include "kernels/element_function.h"

namespace pellucid {

struct PreparedMap final : Prepared {
  PreparedMap(const CallFacts& facts, const ElementFunction& of)
      : words(facts.words().begin(), facts.words().end()), function(of) {}
  // False if operands share memory with a tensor written in place.
  bool run(OpCall& call, std::span<TensorImpl* const> tensors) const override;
  bool list(size_t num_tensors, PreparedList& into) const override;
  void fail(const OpRecord& op, const PreparedAction& action, int64_t status) const override;

  // Installed by record/: returns results that are computed later. False: not possible this time.
  static bool (*record)(const PreparedMap& map, OpCall& call, std::span<TensorImpl* const> tensors);

  std::vector<uint64_t> words;
  const ElementFunction& function;
  std::optional<Geometry> geometry;      // of the results; nullopt if an argument is written in place
  int written = -1;                      // that argument
  uint16_t written_tensor = 0;           // its position among the call's tensors
  bool is_small = true;                  // whether the geometry is small: then copying it is cheapest
  uint8_t operands[kMaxMapInputs] = {};  // the inputs' positions among the call's tensors
  int64_t sizes[2] = {};
  int64_t strides[2 * (kMaxMapOutputs + kMaxMapInputs)] = {};
  uint64_t params[kMaxMapParams] = {};

 private:
  bool run_large(OpCall& call, std::span<TensorImpl* const> tensors) const;
  bool run_in_place(OpCall& call, std::span<TensorImpl* const> tensors, char** pointers) const;
};

// Records the launches of a call while in scope.
class MapRecorder final : public LaunchRecorder {
 public:
  explicit MapRecorder(const ElementFunction& function);
  ~MapRecorder();
  MapRecorder(const MapRecorder&) = delete;
  MapRecorder& operator=(const MapRecorder&) = delete;

  void launch(KernelRef& kernel, char* const* data, const int64_t* sizes, const int64_t* strides,
              const uint64_t* params) override;
  void share_work() override { possible_ = false; }

  // Called after the call, while it still has its results. Null if it cannot be repeated.
  std::unique_ptr<PreparedMap> prepare(const OpCall& call, const CallFacts& facts) const;

 private:
  bool leads_to_operands(const OpCall& call) const;
  size_t num_operands() const { return size_t{function_.num_outputs} + function_.num_inputs; }

  const ElementFunction& function_;
  LaunchRecorder* const outer_;
  bool possible_ = true;
  int launches_ = 0;
  char* data_[kMaxMapOutputs + kMaxMapInputs];
  int64_t sizes_[2];
  int64_t strides_[2 * (kMaxMapOutputs + kMaxMapInputs)];
  uint64_t params_[kMaxMapParams];
};

}  // namespace pellucid
