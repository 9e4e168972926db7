#include "cuda/convolution_ops.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "cuda/convolutions.h"

namespace pellucid::cuda {
namespace {

constexpr ConvolutionForm kForms[] = {
    {NamedOp::Conv1d, 3, 4, 5, 6, -1, -1, false, false},
    {NamedOp::Conv2d, 3, 4, 5, 6, -1, -1, false, false},
    {NamedOp::Conv3d, 3, 4, 5, 6, -1, -1, false, false},
    {NamedOp::ConvTranspose1d, 3, 4, 7, 6, 5, -1, true, false},
    {NamedOp::ConvTranspose2d, 3, 4, 7, 6, 5, -1, true, false},
    {NamedOp::ConvTranspose3d, 3, 4, 7, 6, 5, -1, true, false},
    {NamedOp::Convolution, 3, 4, 5, 8, 7, 6, false, false},
    {NamedOp::ConvolutionBackward, 4, 5, 6, 9, 8, 7, false, true},
};

std::unique_ptr<DerivativePlan> make_gradient(const ConvolutionForm& form, uint64_t mask) {
  using From = ArgumentOrigin;
  static const int64_t zero[] = {0};
  auto plan = std::make_unique<DerivativePlan>();
  plan->op = &named_op(NamedOp::ConvolutionBackward);
  const auto add = [&](From from, int index) { plan->arguments.push_back({from, static_cast<int16_t>(index)}); };
  const auto add_constant = [&](const Value& value) {
    add(From::Constant, static_cast<int>(plan->constants.size()));
    plan->constants.push_back(value);
  };
  add(From::Gradient, 0);
  add(From::Argument, form.input());
  add(From::Argument, form.weight());
  add_constant({});  // the bias' sizes
  for (const int argument : {form.stride, form.padding, form.dilation}) add(From::Argument, argument);
  if (form.transposed < 0) add_constant(Value::of_bool(form.is_transposed));
  else add(From::Argument, form.transposed);
  if (form.output_padding < 0) add_constant(Value::of(std::span<const int64_t>(zero)));
  else add(From::Argument, form.output_padding);
  add(From::Argument, form.groups);
  static const auto* const masks = [] {
    auto* const made = new int64_t[8][kGradients];
    for (int bits = 0; bits < 8; ++bits)
      for (int part = 0; part < kGradients; ++part) made[bits][part] = bits >> part & 1;
    return made;
  }();
  Value wanted = Value::of(std::span<const int64_t>(masks[mask], kGradients));
  wanted.tag = Tag::BoolList;
  add_constant(wanted);
  plan->results = {kImage, kFilter, kBias};
  plan->saved_arguments = 3;
  plan->node_name = "ConvolutionBackward0";
  return plan;
}

constexpr uint64_t kAllGradients = 7;  // a bit for the image, the filter and the bias
using Gradients = std::map<std::pair<const ConvolutionForm*, uint64_t>, std::unique_ptr<DerivativePlan>>;

Gradients all_gradients() {
  Gradients made;
  for (const ConvolutionForm& form : kForms)
    for (uint64_t mask = 0; mask <= kAllGradients && !form.is_gradient; ++mask)
      made[{&form, mask}] = make_gradient(form, mask);
  return made;
}

}  // namespace

const ConvolutionForm* form_of(const OpRecord& op) {
  const auto* const found =
      std::ranges::find_if(kForms, [&](const ConvolutionForm& form) { return &named_op(form.op) == &op; });
  return found == std::end(kForms) ? nullptr : found;
}

SharedPlan convolution_gradient(const OpCall& call, uint64_t mask) {
  const OpRecord& op = call.op->functional ? *call.op->functional : *call.op;
  // The gradient op derives that of `convolution` itself.
  if (&op == &named_op(NamedOp::Convolution) || op.kind != OpKind::Contraction) return nullptr;
  if (!cudnn_settings.is_enabled.load(std::memory_order_relaxed)) return nullptr;
  const ConvolutionForm* const form = form_of(op);
  if (!form || form->is_gradient) return nullptr;
  for (const int argument : {form->input(), form->weight()})
    if (call.args[argument].tensor->device.type != DeviceType::CUDA) return nullptr;
  if (call.args[0].tensor->ndim != call.args[1].tensor->ndim) return nullptr;  // without a batch
  static const Gradients gradients = all_gradients();
  return permanent(gradients.at({form, mask & kAllGradients}).get());
}

}  // namespace pellucid::cuda
