#include "exec/product_driver.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "core/thread_pool.h"
#include "kernels/contraction.h"
#include "kernels/conversion.h"

namespace pellucid {
namespace {

ContractionCall contraction_call(const Step& step, const Placement& nest, bool accumulates) {
  ContractionCall call{step.kernel->kernel, nest.dtypes[0], step.groups,
                       {nest.extents, static_cast<size_t>(nest.axes)}, {}, {}, accumulates};
  for (int o = 0; o < nest.operands; ++o) {
    call.data[o] = nest.data[o];
    call.strides[o] = nest.strides[o];
  }
  return call;
}

// The indices that a product forms in one dim of an operand.
struct Reach {
  int64_t first, low, high;        // at the first point, the least, the greatest
  int64_t steps[kMaxAxes] = {};
  int64_t size;

  Reach(const Frame& frame, const DimMap& dim, const Placement& nest, int64_t size) : size(size) {
    first = low = high = dim.offset == kNoRegister ? 0 : frame.size(dim.offset);
    for (DimTerm term : dim.terms) {
      const int64_t coefficient = term.coefficient == kNoRegister ? 1 : frame.size(term.coefficient);
      steps[term.axis] += coefficient;
      const int64_t reach = coefficient * (nest.extents[term.axis] - 1);
      (reach < 0 ? low : high) += reach;
    }
  }

  bool leaves() const { return low < 0 || high >= size; }
  // Of a copy that holds all that is read: where it starts, and its size.
  int64_t start() const { return leaves() ? low : 0; }
  int64_t extent() const { return leaves() ? high - low + 1 : size; }
};
using Reaches = std::vector<Reach>;

// A copy of what is read of a tensor, with zeros around it: every row of the copy is written once.
class PaddedCopy {
 public:
  PaddedCopy(TensorImpl& source, const Reaches& reaches) : source_(source), reaches_(reaches), rank_(reaches.size()) {
    int64_t sizes[kMaxDims];
    for (size_t d = 0; d < rank_; ++d) sizes[d] = reaches[d].extent();
    copy_ = empty({sizes, rank_}, source.dtype);
    const Reach& last = reaches.back();
    row_ = last.extent();
    before_ = std::min(std::max<int64_t>(-last.start(), 0), row_);
    inside_ = std::max<int64_t>(std::min(last.start() + row_, last.size) - std::max<int64_t>(last.start(), 0), 0);
    step_ = source.strides[rank_ - 1] * item_;
  }

  Tensor run() {
    const int64_t rows = copy_->numel / std::max<int64_t>(row_, 1), together = std::max<int64_t>(kBlockElements / std::max<int64_t>(row_, 1), 1);
    parallel_blocks(ceil_div(rows, together), [&](int64_t block) {
      write_rows(block * together, std::min(rows, (block + 1) * together));
    });
    return std::move(copy_);
  }

 private:
  static constexpr int64_t kBlockElements = 1 << 15;

  void write_rows(int64_t begin, int64_t end) const {
    int64_t index[kMaxDims] = {};
    int64_t rest = begin;
    for (size_t d = rank_ - 1; d-- > 0; rest /= copy_->sizes[d]) index[d] = rest % copy_->sizes[d];
    char* to = copy_->data() + begin * row_ * item_;
    for (int64_t row = begin; row < end; ++row, to += row_ * item_) {
      write_row(to, index);
      for (size_t d = rank_ - 1; d-- > 0;) {
        if (++index[d] < copy_->sizes[d]) break;
        index[d] = 0;
      }
    }
  }

  void write_row(char* to, const int64_t* index) const {
    int64_t place = std::max<int64_t>(reaches_[rank_ - 1].start(), 0) * step_;
    bool is_inside = inside_ > 0;
    for (size_t d = 0; d + 1 < rank_; ++d) {
      const int64_t at = index[d] + reaches_[d].start();
      is_inside &= at >= 0 && at < reaches_[d].size;
      place += at * source_.strides[d] * item_;
    }
    if (!is_inside) return static_cast<void>(std::memset(to, 0, static_cast<size_t>(row_ * item_)));
    const Run run{{inside_, 1}, {item_, 0}, {step_, 0}};
    std::memset(to, 0, static_cast<size_t>(before_ * item_));
    convert(source_.dtype, to + before_ * item_, source_.dtype, source_.data() + place, run);
    const int64_t end = before_ + inside_;
    std::memset(to + end * item_, 0, static_cast<size_t>((row_ - end) * item_));
  }

  TensorImpl& source_;
  const Reaches& reaches_;
  const size_t rank_;
  const int64_t item_ = static_cast<int64_t>(item_size(source_.dtype));
  Tensor copy_;
  int64_t row_, before_, inside_, step_;   // elements of a row: all, the zeros before, the copied ones; bytes between these
};

// Lets operand `k` of the product be a copy of what it reads.
void place_copy(TensorImpl& copy, const Reaches& reaches, Placement& nest, int k) {
  const int64_t item = static_cast<int64_t>(item_size(copy.dtype));
  nest.data[k] = copy.data();
  std::fill_n(nest.strides[k], nest.axes, 0);
  for (size_t d = 0; d < reaches.size(); ++d) {
    const int64_t stride = copy.strides[d] * item;
    nest.data[k] += (reaches[d].first - reaches[d].start()) * stride;
    for (int axis = 0; axis < nest.axes; ++axis) nest.strides[k][axis] += reaches[d].steps[axis] * stride;
  }
}

// Names the dims that operand `k` is left in; false if there are too many.
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

int64_t run_product(const Step& step, const Placement& nest, bool accumulates, KeptPanels* kept) {
  ContractionCall call = contraction_call(step, nest, accumulates);
  call.kept = kept;
  return run_contraction(call);
}

int64_t run_padded_product(const Frame& frame, const Step& step, Placement& nest) {
  const bool is_empty = std::find(nest.extents, nest.extents + nest.axes, 0) != nest.extents + nest.axes;
  if (is_empty) return run_product(step, nest, false);
  struct Left { int operand; TensorImpl* tensor; Reaches reaches; };
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
  if (left.size() == 1) {
    ContractionCall call = contraction_call(step, nest, false);
    if (describe_beyond(left[0].reaches, left[0].operand, call))
      if (const std::optional<int64_t> status = run_beyond(call)) return *status;
  }
  std::vector<Tensor> copies;
  for (const Left& one : left)
    place_copy(*copies.emplace_back(PaddedCopy(*one.tensor, one.reaches).run()), one.reaches, nest, one.operand);
  return run_product(step, nest, false);
}

}  // namespace pellucid
