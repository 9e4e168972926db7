#include "plan/product_driver.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>
#include <utility>
#include <vector>

#include "core/thread_pool.h"
#include "kernels/conversion.h"
#include "plan/reach.h"
#include "products/contraction.h"
#include "products/word_product.h"

namespace pellucid {
namespace {

// Kernels load a bias in vectors: one that is not contiguous is copied, and the copy replaces it.
Tensor gathered_bias(Placement& nest) {
  if (nest.operands <= kBias) return {};
  const DType dtype = nest.dtypes[kBias];
  const auto item = static_cast<int64_t>(item_size(dtype));
  for (int axis = 0; axis < nest.axes; ++axis) {
    int64_t& stride = nest.strides[kBias][axis];
    if (stride == 0 || stride == item) continue;
    const int64_t count[] = {nest.extents[axis]};
    Tensor copy = empty(count, dtype);
    convert(dtype, copy->host(), dtype, nest.data[kBias], {{count[0], 1}, {item, 0}, {stride, 0}});
    nest.data[kBias] = copy->host();
    stride = item;
    return copy;  // it follows one axis only
  }
  return {};
}

ContractionCall contraction_call(const Step& step, const Placement& nest, bool accumulates) {
  ContractionCall call{
      step.kernel->kernel, nest.dtypes[0], step.groups, {nest.extents, static_cast<size_t>(nest.axes)}, {}, {},
      accumulates};
  for (int o = 0; o < nest.operands; ++o) {
    call.data[o] = nest.data[o];
    call.strides[o] = nest.strides[o];
  }
  return call;
}

// A zero-padded copy of what is read of a tensor, in the memory order of the tensor's dims; each row of the copy
// is written once.
class PaddedCopy {
 public:
  PaddedCopy(TensorImpl& source, const Reaches& reaches) : source_(source) {
    std::vector<size_t> order(reaches.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::stable_sort(order, std::greater{}, [&](size_t d) { return std::abs(source.strides[d]); });
    int64_t sizes[kMaxDims], strides[kMaxDims], stride = 1;
    for (size_t k = order.size(); k-- > 0; stride *= sizes[order[k]]) {
      sizes[order[k]] = reaches[order[k]].extent();
      strides[order[k]] = stride;
    }
    copy_ = empty_strided({sizes, reaches.size()}, {strides, reaches.size()}, source.dtype);
    for (size_t d : order) add(reaches[d], source.strides[d] * item_);
    row_ = dims_.back();
    dims_.pop_back();
    before_ = std::min(std::max<int64_t>(-row_.start, 0), row_.extent);
    inside_ = std::max<int64_t>(std::min(row_.start + row_.extent, row_.size) - std::max<int64_t>(row_.start, 0), 0);
  }

  Tensor run() {
    const int64_t length = std::max<int64_t>(row_.extent, 1), rows = copy_->numel / length;
    const int64_t together = std::max<int64_t>(kBlockElements / length, 1);
    parallel_blocks(ceil_div(rows, together),
                    [&](int64_t block) { write_rows(block * together, std::min(rows, (block + 1) * together)); });
    return std::move(copy_);
  }

 private:
  static constexpr int64_t kBlockElements = 1 << 15;

  // The first index copied, the number of indices copied, the dim's size, and its stride in bytes.
  struct Dim {
    int64_t start, extent, size, stride;
  };

  // Merges a dim that is copied whole with the one outside it, if they are contiguous in the tensor.
  void add(const Reach& reach, int64_t stride) {
    if (!reach.leaves() && !dims_.empty() && dims_.back().stride == reach.size * stride) {
      const Dim& outer = dims_.back();
      dims_.back() = {outer.start * reach.size, outer.extent * reach.size, outer.size * reach.size, stride};
    } else {
      dims_.push_back({reach.start(), reach.extent(), reach.size, stride});
    }
  }

  void write_rows(int64_t begin, int64_t end) const {
    int64_t index[kMaxDims] = {};
    int64_t rest = begin;
    for (size_t d = dims_.size(); d-- > 0; rest /= dims_[d].extent) index[d] = rest % dims_[d].extent;
    char* to = copy_->host() + begin * row_.extent * item_;
    for (int64_t row = begin; row < end; ++row, to += row_.extent * item_) {
      write_row(to, index);
      for (size_t d = dims_.size(); d-- > 0;) {
        if (++index[d] < dims_[d].extent) break;
        index[d] = 0;
      }
    }
  }

  void write_row(char* to, const int64_t* index) const {
    int64_t place = std::max<int64_t>(row_.start, 0) * row_.stride;
    bool is_inside = inside_ > 0;
    for (size_t d = 0; d < dims_.size(); ++d) {
      const int64_t at = index[d] + dims_[d].start;
      is_inside &= at >= 0 && at < dims_[d].size;
      place += at * dims_[d].stride;
    }
    if (!is_inside) return static_cast<void>(std::memset(to, 0, static_cast<size_t>(row_.extent * item_)));
    const Run run{{inside_, 1}, {item_, 0}, {row_.stride, 0}};
    std::memset(to, 0, static_cast<size_t>(before_ * item_));
    convert(source_.dtype, to + before_ * item_, source_.dtype, source_.host() + place, run);
    const int64_t end = before_ + inside_;
    std::memset(to + end * item_, 0, static_cast<size_t>((row_.extent - end) * item_));
  }

  TensorImpl& source_;
  const int64_t item_ = static_cast<int64_t>(item_size(source_.dtype));
  Tensor copy_;
  std::vector<Dim> dims_;  // outermost first, without the dim of the rows
  Dim row_{};
  int64_t before_, inside_;  // elements of a row: leading zeros, copied elements
};

// Lists the dims in which operand `k` is read out of bounds; false if there are too many.
bool describe_beyond(const Reaches& reaches, int k, ContractionCall& call) {
  call.beyond.operand = k;
  for (const Reach& reach : reaches) {
    if (!reach.leaves()) continue;
    if (call.beyond.dims == kMaxBeyond) return false;
    const int dim = call.beyond.dims++;
    call.beyond.sizes[dim] = reach.size;
    call.beyond.firsts[dim] = reach.first;
    call.steps[dim] = reach.steps;
  }
  return true;
}

}  // namespace

int64_t run_product(const Step& step, Placement& nest, bool accumulates, CachedPanels* panel_cache) {
  const Tensor bias = gathered_bias(nest);
  ContractionCall call = contraction_call(step, nest, accumulates);
  if (nest.dtypes[kA] != nest.dtypes[kC]) return run_word_product(call);
  call.panel_cache = panel_cache;
  return run_contraction(call);
}

int64_t run_padded_product(const Frame& frame, const Step& step, Placement& nest) {
  const bool is_empty = std::find(nest.extents, nest.extents + nest.axes, 0) != nest.extents + nest.axes;
  if (is_empty) return run_product(step, nest, false);
  struct Left {
    int operand;
    TensorImpl* tensor;
    Reaches reaches;
  };
  std::vector<Left> left;
  int k = static_cast<int>(step.outputs.size());
  for (const Operand& input : step.inputs) {
    TensorImpl* const tensor = frame.value(input.value);
    Reaches reaches;
    for (size_t d = 0; input.padded && d < input.dims.size(); ++d)
      reaches.emplace_back(frame, input.dims[d], nest, tensor->sizes[d]);
    if (std::ranges::any_of(reaches, &Reach::leaves)) left.push_back({k, tensor, std::move(reaches)});
    ++k;
  }
  const Tensor bias = gathered_bias(nest);
  if (left.size() == 1) {
    ContractionCall call = contraction_call(step, nest, false);
    if (describe_beyond(left[0].reaches, left[0].operand, call))
      if (const std::optional<int64_t> status = run_beyond(call)) return *status;
  }
  std::vector<Tensor> copies;
  for (const Left& one : left) {
    TensorImpl& copy = *copies.emplace_back(PaddedCopy(*one.tensor, one.reaches).run());
    place_copy(copy, copy.host(), one.reaches, nest, one.operand);
  }
  return run_product(step, nest, false);
}

}  // namespace pellucid
