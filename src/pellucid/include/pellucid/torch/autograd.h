// torch::autograd::Function, and guards of what is recorded.
#pragma once

#include <cxxabi.h>

#include <map>
#include <typeinfo>
#include <variant>

#include "pellucid/torch/tensor.h"

namespace c10 {

// A value that a context holds for backward.
class IValue {
 public:
  IValue() = default;
  IValue(at::Tensor value) : value_(std::move(value)) {}
  IValue(double value) : value_(value) {}
  IValue(int64_t value) : value_(value) {}
  IValue(int value) : value_(static_cast<int64_t>(value)) {}
  IValue(bool value) : value_(value) {}
  IValue(std::string value) : value_(std::move(value)) {}
  IValue(const char* value) : value_(std::string(value)) {}
  IValue(std::vector<int64_t> value) : value_(std::move(value)) {}
  IValue(IntArrayRef value) : value_(value.vec()) {}
  bool isNone() const { return std::holds_alternative<std::monostate>(value_); }
  at::Tensor toTensor() const { return get<at::Tensor>("Tensor"); }
  double toDouble() const { return get<double>("Double"); }
  int64_t toInt() const { return get<int64_t>("Int"); }
  bool toBool() const { return get<bool>("Bool"); }
  std::string toStringRef() const { return get<std::string>("String"); }
  std::vector<int64_t> toIntVector() const { return get<std::vector<int64_t>>("IntList"); }

 private:
  template <class T>
  T get(const char* name) const {
    TORCH_CHECK(std::holds_alternative<T>(value_), "the value is not a ", name);
    return std::get<T>(value_);
  }
  std::variant<std::monostate, at::Tensor, double, int64_t, bool, std::string, std::vector<int64_t>> value_;
};

}  // namespace c10

namespace at {

class NoGradGuard {
 public:
  NoGradGuard() : before_(detail::table().set_grad_mode(false)) {}
  ~NoGradGuard() { detail::table().set_grad_mode(before_); }
  NoGradGuard(const NoGradGuard&) = delete;
  NoGradGuard& operator=(const NoGradGuard&) = delete;

 private:
  const bool before_;
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

struct AutogradContext {
  std::map<std::string, at::IValue> saved_data;
  void save_for_backward(variable_list tensors) { saved_ = std::move(tensors); }
  variable_list get_saved_variables() const { return saved_; }

 private:
  template <class>
  friend struct Function;
  variable_list saved_;
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
    record(std::move(context), {handle_of(arguments)...}, handles_of(outputs));
    return outputs;
  }

 private:
  using Handles = std::vector<at::TensorHandle*>;
  template <class Argument>
  static at::TensorHandle* handle_of(const Argument& argument) {
    if constexpr (std::is_same_v<Argument, at::Tensor>) return argument.handle();
    else if constexpr (std::is_same_v<Argument, at::optional<at::Tensor>>) return argument ? argument->handle() : nullptr;
    else return nullptr;
  }
  static Handles handles_of(const at::Tensor& tensor) { return {tensor.handle()}; }
  static Handles handles_of(const variable_list& tensors) {
    Handles handles;
    for (const at::Tensor& tensor : tensors) handles.push_back(tensor.handle());
    return handles;
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

  static void record(std::unique_ptr<AutogradContext> context, const Handles& inputs, const Handles& outputs) {
    const variable_list saved = std::move(context->saved_);
    const Handles held = handles_of(saved);
    const auto destroy = [](void* state) { delete static_cast<AutogradContext*>(state); };
    const pellucid::extension::Backward backward{name(), context.release(), run, destroy};
    if (at::detail::table().record(backward, inputs.data(), inputs.size(), outputs.data(), outputs.size(), held.data(),
                                   held.size()))
      throw pellucid::extension::Error(at::detail::table().last_error());
  }

  static variable_list shared(at::TensorHandle* const* handles, size_t count) {
    variable_list tensors;
    for (size_t k = 0; k < count; ++k) tensors.push_back(at::Tensor::share(handles[k]));
    return tensors;
  }

  static int run(void* state, at::TensorHandle* const* saved, size_t num_saved, at::TensorHandle* const* grads,
                 size_t num_grads, at::TensorHandle** results, size_t num_results, char* message, size_t capacity) {
    try {
      AutogradContext context = *static_cast<AutogradContext*>(state);
      context.saved_ = shared(saved, num_saved);
      variable_list found = Derived::backward(&context, shared(grads, num_grads));
      TORCH_CHECK(found.size() == num_results, "function ", name(), " returned an incorrect number of gradients (expected ",
                  num_results, ", got ", found.size(), ")");
      for (size_t k = 0; k < num_results; ++k) results[k] = found[k].leak();
      return 0;
    } catch (const std::exception& error) {
      PyOS_snprintf(message, capacity, "%s", error.what());
      return -1;
    }
  }
};

}  // namespace torch::autograd
