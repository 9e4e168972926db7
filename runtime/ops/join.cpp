#include "ops/join.h"

#include <algorithm>
#include <cstring>
#include <mutex>

#include "autograd/handler.h"
#include "core/call_facts.h"
#include "core/dispatcher.h"
#include "core/error.h"
#include "core/geometry.h"
#include "core/hooks.h"
#include "core/thread_pool.h"
#include "kernels/copy.h"
#include "kernels/layout.h"
#include "ops/derivatives.h"
#include "threads/fork_safe_mutex.h"

namespace pellucid {
namespace {

JoinData& data_of(const OpCall& call) {
  const OpRecord& functional = call.op->functional ? *call.op->functional : *call.op;
  return static_cast<JoinData&>(*functional.kind_data);
}

using Pieces = std::span<TensorImpl* const>;
Pieces pieces_of(const OpCall& call) { return call.args[0].list(); }

// Decides whether the pieces of a call can be copied as they are; describes them by their common geometry.
class Join {
 public:
  explicit Join(const OpCall& call)
      : adds_dim_(data_of(call).adds_dim()), dim_(call.args[1].integer), fits_(place(pieces_of(call))) {}

  explicit operator bool() const { return fits_; }
  Sizes shape() const { return {sizes_, ndim_}; }
  int64_t dim() const { return dim_; }

  Tensor joined(Pieces pieces) const {
    Tensor result = make_result(pieces);
    fill(*result, pieces);
    return result;
  }

  // Copies the pieces to their places in the result.
  void fill(TensorImpl& result, Pieces pieces) const {
    if (result.numel == 0 || result.device.type == DeviceType::Meta) return;
    if (is_small_and_row_major(result, pieces)) fill_runs(result, pieces);
    else fill_views(result, pieces);
  }

 private:
  Tensor make_result(Pieces pieces) const {
    const TensorImpl& first = *pieces.front();
    const auto is_nhwc = [](const TensorImpl* piece) {
      return !piece->is_contiguous() && is_channels_last(piece->shape(), piece->stride());
    };
    if (adds_dim_ || !is_nhwc(&first) || !std::ranges::all_of(pieces, is_nhwc))
      return empty(shape(), first.dtype, first.device);
    int64_t strides[kMaxDims];
    channels_last_strides(shape(), strides);
    return empty_strided(shape(), {strides, ndim_}, first.dtype, first.device);
  }

  static bool is_small_and_row_major(const TensorImpl& result, Pieces pieces) {
    if (result.numel > kParallelGrain || !result.is_contiguous() || result.is_off_host()) return false;
    return std::ranges::all_of(pieces, [](const TensorImpl* piece) { return piece->is_contiguous(); });
  }

  // At each index of the dims outside the joined one, a piece is one contiguous run of bytes in both tensors.
  void fill_runs(TensorImpl& result, Pieces pieces) const {
    size_t item = item_size(result.dtype), num_runs = 1;
    for (int64_t k = 0; k < dim_; ++k) num_runs *= static_cast<size_t>(sizes_[k]);
    const size_t step = static_cast<size_t>(result.numel) * item / num_runs;
    char* place = result.host();
    for (TensorImpl* piece : pieces) {
      const size_t run = static_cast<size_t>(piece->numel) * item / num_runs;
      if (run == 0) continue;
      const char* from = piece->host();
      for (size_t k = 0; k < num_runs; ++k) std::memcpy(place + k * step, from + k * run, run);
      place += run;
    }
  }

  void fill_views(TensorImpl& result, Pieces pieces) const {
    int64_t sizes[kMaxDims], strides[kMaxDims];
    std::ranges::copy(result.shape(), sizes);
    std::ranges::copy(result.stride(), strides);
    const int64_t step = strides[dim_];
    if (adds_dim_) {
      std::copy(sizes + dim_ + 1, sizes + ndim_, sizes + dim_);
      std::copy(strides + dim_ + 1, strides + ndim_, strides + dim_);
    }
    const size_t ndim = adds_dim_ ? ndim_ - 1 : ndim_;
    int64_t offset = result.offset;
    for (TensorImpl* piece : pieces) {
      if (!adds_dim_) sizes[dim_] = piece->sizes[dim_];
      const Tensor place = make_view(result, {sizes, ndim}, {strides, ndim}, offset, true);
      copy_elements(*place, *piece);
      offset += adds_dim_ ? step : sizes[dim_] * step;
    }
  }

  bool place(Pieces pieces) {
    if (pieces.empty()) return false;
    const TensorImpl& like = *pieces.front();
    ndim_ = like.ndim + (adds_dim_ ? 1u : 0u);
    const auto rank = static_cast<int64_t>(ndim_);
    if (rank == 0 || ndim_ > kMaxDims || dim_ < -rank || dim_ >= rank) return false;
    if (dim_ < 0) dim_ += rank;
    int64_t length = 0;
    for (const TensorImpl* piece : pieces) {
      if (piece->dtype != like.dtype || piece->device != like.device || piece->ndim != like.ndim) return false;
      for (int64_t k = 0; k < piece->ndim; ++k)
        if (piece->sizes[k] != like.sizes[k] && (adds_dim_ || k != dim_)) return false;
      length += adds_dim_ ? 1 : piece->sizes[dim_];
    }
    std::copy_n(like.sizes, dim_, sizes_);
    sizes_[dim_] = length;
    std::copy(like.sizes + dim_ + (adds_dim_ ? 0 : 1), like.sizes + like.ndim, sizes_ + dim_ + 1);
    return true;
  }

  bool adds_dim_;
  int64_t dim_;
  size_t ndim_ = 0;
  int64_t sizes_[kMaxDims];
  bool fits_;
};

struct PreparedJoin final : Prepared {
  explicit PreparedJoin(const Join& of) : join(of) {}
  bool run(OpCall& call, Pieces pieces) const override {
    call.rets[0] = Value::of(join.joined(pieces).leak());
    return true;
  }
  const Join join;
};

bool may_write(const TensorImpl& destination, Pieces pieces) {
  if (destination.dtype != pieces.front()->dtype || destination.device != pieces.front()->device) return false;
  return std::ranges::none_of(pieces, [&](const TensorImpl* piece) { return piece->storage == destination.storage; });
}

// `run_as_declared` handles lists whose pieces cannot be copied as they are.
template <class RunAsDeclared>
void run_join(OpCall& call, RunAsDeclared&& run_as_declared) {
  const Join join(call);
  if (!join) return run_as_declared(call);
  if (call.op->variant == Variant::Functional) {
    call.rets[0] = Value::of(join.joined(pieces_of(call)).leak());
    if (PreparationRequest* request = preparation_request_of(call))
      request->made = std::make_unique<PreparedJoin>(join);
    return;
  }
  TensorImpl& destination = *call.args[2].tensor;
  if (!may_write(destination, pieces_of(call))) return run_as_declared(call);
  resize_output(destination, join.shape());
  require_no_internal_overlap(destination);
  before_write(*destination.storage);
  destination.bump_version();
  join.fill(destination, pieces_of(call));
  call.rets[0] = Value::of(Tensor::share(&destination).leak());
}

void handle_join_meta(OpCall& call, void*) {
  run_join(call, [](OpCall& declared) { run_graph_op_meta(declared, nullptr); });
}

// The gradient is split by the inverse view: one plan for lists of any length.
DerivativePlan plan_of_parts(JoinData& data, int64_t dim) {
  using From = ArgumentSource::From;
  DerivativePlan plan;
  plan.op = &data.inverse();
  plan.per_element = true;
  plan.arguments.push_back({From::Gradient, 0, -1});
  if (!data.adds_dim()) {
    plan.arguments.push_back({From::Sizes, 0, -1});
    plan.sizes.push_back({0, 0, static_cast<int16_t>(dim)});
  }
  plan.arguments.push_back({From::Argument, 1, -1});
  return plan;
}

FORK_SAFE ForkSafeMutex adding;  // derivatives to any join

SharedPlan find_join_derivative(const OpCall& call, uint64_t needs_grad) {
  constexpr size_t kMaxCount = INT16_MAX;  // elements are numbered with 16 bits
  const Join join(call);
  const size_t count = pieces_of(call).size();
  if (!join || count > kMaxCount) return find_derivative(call, needs_grad);
  JoinData& data = data_of(call);
  const std::lock_guard lock(adding);
  auto found = data.derivatives.find(join.dim());
  if (found == data.derivatives.end())
    found = data.derivatives.emplace(join.dim(), plan_of_parts(data, join.dim())).first;
  return permanent(&found->second);
}

}  // namespace

const OpRecord& JoinData::inverse() {
  const OpRecord* op = found_inverse.load(std::memory_order_acquire);
  if (!op) {
    op = find_op(inverse_name);
    if (!op)
      raise(ErrorKind::NotImplemented, "the view %s, the inverse of a join, does not exist", inverse_name.c_str());
    found_inverse.store(op, std::memory_order_release);
  }
  return *op;
}

void handle_join(OpCall& call, void*) {
  run_join(call, [](OpCall& declared) { run_graph_op(declared, nullptr); });
}

void run_join_on(OpCall& call, Device device) {
  run_join(call, [device](OpCall& declared) { run_graph_op_on(declared, device); });
}

void register_join(OpRecord& op, std::string inverse) {
  static DerivativeFinder finder = find_join_derivative;
  if (!op.functional) op.kind_data = std::make_unique<JoinData>(std::move(inverse));
  register_kernel(op, Key::Autograd, {autograd_handler, &finder});
  register_kernel(op, Key::CPU, {handle_join, nullptr});
  register_kernel(op, Key::Meta, {handle_join_meta, nullptr});
}

}  // namespace pellucid
