#include "plan/result_layout.h"

#include <algorithm>
#include <span>

#include "kernels/copy.h"

namespace pellucid {
namespace {

constexpr int64_t kLeastChannels = 8;

const TensorImpl* first_tensor(const OpCall& call) {
  for (int k = 0; k < call.num_args; ++k)
    if (call.args[k].is_tensor()) return call.args[k].tensor;
  return nullptr;
}

std::optional<LayoutOfResults> layout_of_images(const OpCall& call) {
  for (int k = 0; k < std::min<int>(call.num_args, 2); ++k) {
    if (!call.args[k].is_tensor()) continue;
    const TensorImpl& images = *call.args[k].tensor;
    if (images.is_contiguous() || !is_channels_last(images.shape(), images.stride())) continue;
    return LayoutOfResults{images.ndim == 4 ? MemoryFormat::ChannelsLast : MemoryFormat::ChannelsLast3d, &images};
  }
  return {};
}

// The results of zeros_like and the like are dense in the order of their operand, or have the given memory_format.
std::optional<LayoutOfResults> layout_of_factory(const OpCall& call) {
  if (call.op->kind != OpKind::Factory || call.args[0].tag != Tag::Tensor) return {};
  if (call.op->schema.arguments.back().type != ArgType::MemoryFormat) return {};
  const Value& given = call.args[call.num_args - 1];
  return LayoutOfResults{given.is_none() ? MemoryFormat::Preserve : static_cast<MemoryFormat>(given.integer),
                         call.args[0].tensor};
}

std::optional<LayoutOfResults> layout_of_results(const OpCall& call, ResultLayout declared) {
  std::optional<LayoutOfResults> found;
  switch (declared) {
    case ResultLayout::RowMajor: found = layout_of_factory(call); break;
    case ResultLayout::Operand:
      if (const TensorImpl* first = first_tensor(call)) found = LayoutOfResults{MemoryFormat::Preserve, first};
      break;
    case ResultLayout::Images: return layout_of_images(call);
  }
  if (!found || found->format == MemoryFormat::Contiguous) return {};
  if (found->format == MemoryFormat::Preserve && found->like->is_contiguous()) return {};
  return found;
}

// The strides of a tensor of that shape; false if the layout does not determine them.
bool strides_of(const LayoutOfResults& layout, Sizes sizes, int64_t* strides) {
  const TensorImpl& like = *layout.like;
  if (layout.format != MemoryFormat::Preserve) {
    if (sizes.size() != static_cast<size_t>(like.ndim)) return false;
    channels_last_strides(sizes, strides);
    return true;
  }
  if (!std::ranges::equal(sizes, like.shape())) return false;
  if (is_non_overlapping_and_dense(like.shape(), like.stride())) std::ranges::copy(like.stride(), strides);
  else dense_strides_like(like.shape(), like.stride(), strides);
  return true;
}

bool writes_any_layout(const Step& step) {
  switch (step.kind) {
    case StepKind::Map:
    case StepKind::Reduce:
    case StepKind::Gemm:
    case StepKind::Fill:
    case StepKind::Copy:
    case StepKind::Reshape: return true;
    case StepKind::Nest: return step.channels_innermost;
    default: return false;
  }
}

bool makes(const Step& step, uint16_t number) { return std::ranges::count(step.outputs, number, &Operand::value) != 0; }

// Whether every step that writes the value can do so in any layout. Inside blocks, only maps can.
bool has_any_layout(std::span<const Step> steps, uint16_t number) {
  bool is_made = false;
  for (const Step& step : steps) {
    if (!makes(step, number)) continue;
    const auto is_map = [&](const Step& inner) { return !makes(inner, number) || inner.kind == StepKind::Map; };
    if (step.block ? !std::ranges::all_of(step.block->steps, is_map) : !writes_any_layout(step)) return false;
    is_made = true;
  }
  return is_made;
}

// The axis that a dim of the operand follows; -1 if it follows none, or several.
int axis_of(const Operand& operand, size_t dim) {
  if (operand.direct) return operand.axis_of_dim[dim];
  const std::vector<DimTerm>& terms = operand.dims[dim].terms;
  return terms.size() == 1 && terms[0].coefficient == kNoRegister ? terms[0].axis : -1;
}

// Strides for an operand such that its dim along the result's innermost axis is innermost too; false if there is
// no such dim.
bool follow(const Operand& result, Sizes result_strides, const Operand& operand, Sizes sizes, int64_t* strides) {
  int inner = -1;
  for (size_t d = 0; d < result_strides.size(); ++d)
    if (result_strides[d] == 1 && inner < 0) inner = axis_of(result, d);
  size_t dim = sizes.size();
  for (size_t d = 0; d < sizes.size(); ++d)
    if (inner >= 0 && axis_of(operand, d) == inner) dim = d;
  if (dim == sizes.size()) return false;
  int64_t stride = 1;
  const auto put = [&](size_t d) {
    strides[d] = stride;
    stride *= std::max<int64_t>(sizes[d], 1);
  };
  put(dim);
  for (size_t d = sizes.size(); d-- > 0;)
    if (d != dim) put(d);
  return true;
}

Sizes sizes_of(const Frame& frame, uint16_t number, int64_t* sizes) {
  const PlanValue& value = frame.plan.values[number];
  for (size_t d = 0; d < value.sizes.size(); ++d) sizes[d] = frame.size(value.sizes[d]);
  return {sizes, value.sizes.size()};
}

}  // namespace

bool results_are_row_major(const OpCall& call, ResultLayout declared) { return !layout_of_results(call, declared); }

ResultLayoutScope::ResultLayoutScope(Frame& frame, const OpCall& call, ResultLayout declared)
    : layout_(layout_of_results(call, declared)) {
  if (!layout_) return;
  choose_value_strides(frame);
  choose_source_strides(frame);
}

// Applies to all values over the images' dims, or else to the results alone. Values with too few channels to
// vectorise are computed row-major.
void ResultLayoutScope::choose_value_strides(Frame& frame) const {
  const Plan& plan = frame.plan;
  for (size_t k = plan.num_inputs; k < plan.values.size(); ++k) {
    const auto number = static_cast<uint16_t>(k);
    if (layout_->format == MemoryFormat::Preserve && std::ranges::count(plan.outputs, number) == 0) continue;
    int64_t sizes[kMaxDims], strides[kMaxDims];
    if (plan.values[k].sizes.size() != static_cast<size_t>(layout_->like->ndim) || !has_any_layout(plan.steps, number))
      continue;
    const Sizes shape = sizes_of(frame, number, sizes);
    if (layout_->format != MemoryFormat::Preserve && shape[1] < kLeastChannels) continue;
    if (strides_of(*layout_, shape, strides)) frame.set_strides(number, {strides, shape.size()});
  }
}

// Gives the operands of such a value its layout, so that nothing is transposed.
void ResultLayoutScope::choose_source_strides(Frame& frame) const {
  const auto is_free = [&](uint16_t number) {
    return number >= frame.plan.num_inputs && !frame.layout_of(number) && has_any_layout(frame.plan.steps, number);
  };
  for (size_t k = frame.plan.steps.size(); k-- > 0;) {
    const Step& step = frame.plan.steps[k];
    if (step.outputs.empty()) continue;
    const uint16_t made = step.outputs[0].value;
    const int64_t* const laid = frame.layout_of(made);
    if (!laid) continue;
    int64_t strides[kMaxDims];  // a copy: the frame's array moves when another value is placed
    std::copy_n(laid, kMaxDims, strides);
    for (const Operand& input : step.inputs) {
      if (!is_free(input.value)) continue;
      int64_t sizes[kMaxDims], source[kMaxDims], found[kMaxDims];
      const Sizes shape = sizes_of(frame, made, sizes), source_shape = sizes_of(frame, input.value, source);
      const bool fits =
          step.kind == StepKind::Reshape ? view_strides(shape, {strides, shape.size()}, source_shape, found)
          : step.kind == StepKind::Map   ? follow(step.outputs[0], {strides, shape.size()}, input, source_shape, found)
                                         : false;
      if (fits) frame.set_strides(input.value, {found, source_shape.size()});
    }
  }
}

void ResultLayoutScope::finish(Frame& frame) const {
  if (!layout_) return;
  for (const uint16_t number : frame.plan.outputs) choose_result_strides(frame, number);
}

void ResultLayoutScope::choose_result_strides(Frame& frame, uint16_t number) const {
  TensorImpl& result = *frame.value(number);
  int64_t strides[kMaxDims];
  if (!strides_of(*layout_, result.shape(), strides)) return;
  bool is_equal = true, has_strides = true;  // ignoring dims of one element
  for (int d = 0; d < result.ndim; ++d) {
    is_equal &= result.strides[d] == strides[d];
    has_strides &= result.strides[d] == strides[d] || result.sizes[d] == 1;
  }
  if (is_equal) return;
  const Sizes wanted(strides, result.ndim);
  if (has_strides) return frame.set(number, make_view(result, result.shape(), wanted, result.offset, true).leak());
  Tensor copy = empty_strided(result.shape(), wanted, result.dtype, result.device);
  if (result.device.type != DeviceType::Meta) copy_elements(*copy, result);
  frame.set(number, copy.leak());
}

}  // namespace pellucid
