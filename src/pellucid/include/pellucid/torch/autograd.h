// torch::autograd::Function, and guards of what is recorded.
#pragma once

#include <cxxabi.h>

#include <map>
#include <typeinfo>

#include "pellucid/torch/functions.h"

namespace at {

class AutoGradMode {
 public:
  explicit AutoGradMode(bool enabled) : before_(detail::table().set_grad_mode(enabled)) {}
  ~AutoGradMode() { detail::table().set_grad_mode(before_); }
  AutoGradMode(const AutoGradMode&) = delete;
  AutoGradMode& operator=(const AutoGradMode&) = delete;

 private:
  const bool before_;
};
struct NoGradGuard : AutoGradMode {
  NoGradGuard() : AutoGradMode(false) {}
};
struct GradMode {
  static void set_enabled(bool enabled) { detail::table().set_grad_mode(enabled); }
  static bool is_enabled() {
    const bool enabled = detail::table().set_grad_mode(true);
    detail::table().set_grad_mode(enabled);
    return enabled;
  }
};

// Ops run below their derivatives.
class AutoDispatchBelowADInplaceOrView {
 public:
  AutoDispatchBelowADInplaceOrView() : before_(detail::table().exclude(~uint64_t{0})) {
    detail::table().exclude(before_ | detail::table().autograd_keys);
  }
  ~AutoDispatchBelowADInplaceOrView() { detail::table().exclude(before_); }
  AutoDispatchBelowADInplaceOrView(const AutoDispatchBelowADInplaceOrView&) = delete;
  AutoDispatchBelowADInplaceOrView& operator=(const AutoDispatchBelowADInplaceOrView&) = delete;

 private:
  const uint64_t before_;
};
using AutoDispatchBelowAutograd = AutoDispatchBelowADInplaceOrView;
using AutoNonVariableTypeMode = AutoDispatchBelowADInplaceOrView;

}  // namespace at

namespace torch::autograd {

using Variable = at::Tensor;
using variable_list = std::vector<at::Tensor>;
using tensor_list = variable_list;

template <class... Tensors>
bool any_variable_requires_grad(const Tensors&... tensors) {
  return (... || tensors.requires_grad());
}
inline bool any_variable_requires_grad(const variable_list& tensors) {
  for (const at::Tensor& each : tensors)
    if (each.requires_grad()) return true;
  return false;
}

class AutogradContext {
 public:
  std::map<std::string, at::IValue> saved_data;
  void save_for_backward(variable_list tensors) { saved_ = std::move(tensors); }
  variable_list get_saved_variables() const { return saved_; }
  void mark_dirty(const variable_list& outputs) { dirty_ = outputs; }
  void mark_non_differentiable(const variable_list& outputs) { constant_ = outputs; }
  void set_materialize_grads(bool value) { materialize_ = value; }
  // Whether an argument of forward takes a gradient; for backward.
  bool needs_input_grad(size_t argument) const { return needed_ && needed_[argument]; }

 private:
  template <class>
  friend struct Function;
  static bool among(const variable_list& tensors, const at::Tensor& tensor) {
    for (const at::Tensor& each : tensors)
      if (each.is_same(tensor)) return true;
    return false;
  }
  uint8_t mark_of(const at::Tensor& output) const {
    using namespace pellucid::extension;
    return static_cast<uint8_t>((among(constant_, output) ? kNotDifferentiable : 0) |
                                (among(dirty_, output) ? kWrittenInPlace : 0));
  }
  variable_list saved_, dirty_, constant_;
  bool materialize_ = true;
  const bool* needed_ = nullptr;
};

// forward(ctx, arguments...) gives a tensor or a list; backward(ctx, gradients) a tensor for each argument of forward,
// one that is not defined where there is none. Saved tensors are checked for changes in place.
template <class Derived>
struct Function {
  template <class... Arguments>
  static auto apply(const Arguments&... arguments) {
    auto context = std::make_unique<AutogradContext>();
    auto outputs = [&] {
      const at::NoGradGuard guard;
      return Derived::forward(context.get(), arguments...);
    }();
    record(std::move(context), {handle_of(arguments)...}, outputs);
    return outputs;
  }

 private:
  using Handles = std::vector<at::TensorHandle*>;
  template <class Argument>
  static at::TensorHandle* handle_of(const Argument& argument) {
    if constexpr (std::is_same_v<Argument, at::Tensor>) return argument.handle();
    else if constexpr (std::is_same_v<Argument, at::optional<at::Tensor>>)
      return argument ? argument->handle() : nullptr;
    else return nullptr;
  }
  static const char* name() {
    static const std::string text = [] {
      int status = 0;
      char* const full = abi::__cxa_demangle(typeid(Derived).name(), nullptr, nullptr, &status);
      const std::string found = full ? full : typeid(Derived).name();
      std::free(full);
      return "torch::autograd::CppNode<" + found + ">";
    }();
    return text.c_str();
  }

  static void record(std::unique_ptr<AutogradContext> context, const Handles& inputs, at::Tensor& output) {
    variable_list outputs{std::move(output)};
    record(std::move(context), inputs, outputs);
    output = std::move(outputs[0]);
  }
  static void record(std::unique_ptr<AutogradContext> context, const Handles& inputs, variable_list& outputs) {
    std::vector<uint8_t> marks;
    for (const at::Tensor& output : outputs) marks.push_back(context->mark_of(output));
    context->dirty_.clear();
    context->constant_.clear();
    const variable_list saved = std::move(context->saved_);
    Handles held;
    for (const at::Tensor& tensor : saved) held.push_back(tensor.handle());
    const bool materialize = context->materialize_;
    const auto destroy = [](void* state) { delete static_cast<AutogradContext*>(state); };
    const pellucid::extension::Backward backward{name(), context.release(), run, destroy, materialize};
    if (at::detail::table().record(backward, inputs.data(), inputs.size(),
                                   reinterpret_cast<at::TensorHandle**>(outputs.data()), marks.data(), outputs.size(),
                                   held.data(), held.size()))
      throw pellucid::extension::Error(at::detail::table().last_error());
  }

  static variable_list shared(at::TensorHandle* const* handles, size_t count) {
    variable_list tensors;
    for (size_t k = 0; k < count; ++k) tensors.push_back(at::Tensor::share(handles[k]));
    return tensors;
  }

  static int run(void* state, at::TensorHandle* const* saved, size_t num_saved, at::TensorHandle* const* grads,
                 size_t num_grads, at::TensorHandle** results, size_t num_results, const bool* needed, char* message,
                 size_t capacity) {
    try {
      AutogradContext context = *static_cast<AutogradContext*>(state);
      context.saved_ = shared(saved, num_saved);
      context.needed_ = needed;
      variable_list found = Derived::backward(&context, shared(grads, num_grads));
      while (found.size() > num_results && !found.back().defined()) found.pop_back();
      TORCH_CHECK(found.size() == num_results, "function ", name(),
                  " returned an incorrect number of gradients (expected ", num_results, ", got ", found.size(), ")");
      for (size_t k = 0; k < num_results; ++k) results[k] = found[k].leak();
      return 0;
    } catch (...) {
      at::detail::raise_current();
      PyOS_snprintf(message, capacity, "%s failed", name());
      return -1;
    }
  }
};

}  // namespace torch::autograd
