#include "cuda/convolution_ops.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "core/named_ops.h"
#include "cuda/convolutions.h"

namespace pellucid::cuda {
namespace {

constexpr NamedOp kConvolutions[] = {
    NamedOp::Conv1d,          NamedOp::Conv2d,          NamedOp::Conv3d,      NamedOp::ConvTranspose1d,
    NamedOp::ConvTranspose2d, NamedOp::ConvTranspose3d, NamedOp::Convolution, NamedOp::ConvolutionBackward,
};
using Forms = std::array<ConvolutionForm, std::size(kConvolutions)>;

// From the op's schema.
ConvolutionForm make_form(const OpRecord& op) {
  const std::vector<Argument>& arguments = op.schema.arguments;
  const auto place = [&](std::string_view name) {
    const auto found = std::ranges::find(arguments, name, &Argument::name);
    return static_cast<int8_t>(found == arguments.end() ? -1 : found - arguments.begin());
  };
  ConvolutionForm form{&op,
                       place("input"),
                       place("weight"),
                       place("bias"),
                       place("stride"),
                       place("padding"),
                       place("dilation"),
                       place("groups"),
                       place("output_padding"),
                       place("transposed"),
                       false,
                       place("grad_output") >= 0};
  form.is_transposed = form.transposed < 0 && form.output_padding >= 0;
  return form;
}

const Forms& all_forms() {
  static const Forms forms = [] {
    Forms made;
    std::ranges::transform(kConvolutions, made.begin(), [](NamedOp op) { return make_form(named_op(op)); });
    return made;
  }();
  return forms;
}

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
  add(From::Argument, form.input);
  add(From::Argument, form.weight);
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
  for (const ConvolutionForm& form : all_forms())
    for (uint64_t mask = 0; mask <= kAllGradients && !form.is_gradient; ++mask)
      made[{&form, mask}] = make_gradient(form, mask);
  return made;
}

}  // namespace

const ConvolutionForm* form_of(const OpRecord& op) {
  const Forms& forms = all_forms();
  const auto found = std::ranges::find(forms, &op, &ConvolutionForm::op);
  return found == forms.end() ? nullptr : &*found;
}

SharedPlan convolution_gradient(const OpCall& call, uint64_t mask) {
  const OpRecord& op = call.op->functional ? *call.op->functional : *call.op;
  // The gradient op derives that of `convolution` itself.
  if (&op == &named_op(NamedOp::Convolution) || op.kind != OpKind::Contraction) return nullptr;
  if (!cudnn_settings.is_enabled.load(std::memory_order_relaxed)) return nullptr;
  const ConvolutionForm* const form = form_of(op);
  if (!form || form->is_gradient) return nullptr;
  for (const int argument : {form->input, form->weight})
    if (call.args[argument].tensor->device.type != DeviceType::CUDA) return nullptr;
  if (call.args[0].tensor->ndim != call.args[1].tensor->ndim) return nullptr;  // without a batch
  static const Gradients gradients = all_gradients();
  return permanent(gradients.at({form, mask & kAllGradients}).get());
}

}  // namespace pellucid::cuda
