#include "exec/product_driver.h"

#include <algorithm>
#include <vector>

#include "core/geometry.h"
#include "kernels/contraction.h"
#include "kernels/copy.h"

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

// A copy of what is read of `source`, with zeros around it.
Tensor padded_copy(TensorImpl& source, const Reaches& reaches) {
  const size_t rank = reaches.size();
  int64_t sizes[kMaxDims], inside[kMaxDims];
  for (size_t d = 0; d < rank; ++d) sizes[d] = reaches[d].extent();
  Tensor copy = empty({sizes, rank}, source.dtype);
  fill_elements(*copy, Value::of_int(0));
  int64_t from = source.offset, to = copy->offset;
  for (size_t d = 0; d < rank; ++d) {
    const int64_t start = reaches[d].start(), first = std::max<int64_t>(start, 0);
    inside[d] = std::min(start + sizes[d], source.sizes[d]) - first;
    if (inside[d] <= 0) return copy;
    from += first * source.strides[d];
    to += (first - start) * copy->strides[d];
  }
  const std::span<const int64_t> region(inside, rank);
  const Tensor read = make_view(source, region, source.stride(), from, true);
  const Tensor written = make_view(*copy, region, copy->stride(), to, true);
  copy_elements(*written, *read);
  return copy;
}

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

int64_t run_product(const Step& step, const Placement& nest, bool accumulates) {
  return run_contraction(contraction_call(step, nest, accumulates));
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
    place_copy(*copies.emplace_back(padded_copy(*one.tensor, one.reaches)), one.reaches, nest, one.operand);
  return run_product(step, nest, false);
}

}  // namespace pellucid
