// All of torch::nn and torch::optim: containers of modules, optimizers, bindings; the names that are not offered.
#pragma once

#include "pellucid/torch/nn_modules.h"

namespace torch {
namespace nn {

// A function as a module: Functional(torch::relu), Functional(torch::log_softmax, 1).
class FunctionalImpl : public Module {
 public:
  template <class Function, class... Rest>
  explicit FunctionalImpl(Function function, Rest... rest)
      : function_([=](const at::Tensor& input) { return function(input, rest...); }) {}
  at::Tensor forward(const at::Tensor& input) { return function_(input); }

 private:
  std::function<at::Tensor(const at::Tensor&)> function_;
};
TORCH_MODULE(Functional);

// Modules in order, as children "0", "1", ...
class ModuleListImpl : public Module {
 public:
  template <class... Modules>
  explicit ModuleListImpl(Modules... modules) {
    (push_back(std::move(modules)), ...);
  }
  template <class T>
  void push_back(std::shared_ptr<T> module) {
    register_module(std::to_string(size()), std::move(module));
  }
  template <class T>
  void push_back(const ModuleHolder<T>& module) {
    push_back(module.ptr());
  }
  size_t size() const { return named_children().size(); }
  std::shared_ptr<Module> operator[](size_t k) const { return children().at(k); }
  template <class T>
  std::shared_ptr<T> ptr(size_t k) const {
    return std::dynamic_pointer_cast<T>(children().at(k));
  }
};
TORCH_MODULE(ModuleList);

// The result of each module is the argument of the next.
class SequentialImpl : public Module {
 public:
  template <class... Modules>
  explicit SequentialImpl(Modules... modules) {
    (push_back(std::move(modules)), ...);
  }
  template <class T>
  void push_back(std::shared_ptr<T> module) {
    push_back(std::to_string(steps_.size()), std::move(module));
  }
  template <class T>
  void push_back(const ModuleHolder<T>& module) {
    push_back(module.ptr());
  }
  template <class T>
  void push_back(const std::string& name, std::shared_ptr<T> module) {
    static_assert(std::is_invocable_r_v<at::Tensor, decltype(&T::forward), T&, at::Tensor>,
                  "torch::nn::Sequential takes modules whose forward takes one tensor and returns one");
    register_module(name, module);
    steps_.push_back([module](const at::Tensor& input) { return module->forward(input); });
  }
  template <class T>
  void push_back(const std::string& name, const ModuleHolder<T>& module) {
    push_back(name, module.ptr());
  }
  at::Tensor forward(at::Tensor input) {
    for (const auto& step : steps_) input = step(input);
    return input;
  }
  size_t size() const { return steps_.size(); }
  std::shared_ptr<Module> operator[](size_t k) const { return children().at(k); }

 private:
  std::vector<std::function<at::Tensor(const at::Tensor&)>> steps_;
};
TORCH_MODULE(Sequential);

#define PELLUCID_ABSENT(name)                                                                    \
  struct name {                                                                                  \
    template <class... Arguments>                                                                \
    explicit name(Arguments&&...) {                                                              \
      static_assert(sizeof(std::tuple<Arguments...>) == 0,                                       \
                    "torch::nn::" #name                                                          \
                    " is not offered in C++: call the op (at::lstm, ...) or make the module in " \
                    "Python; docs/cpp-extensions.md lists the modules");                         \
    }                                                                                            \
  };
PELLUCID_ABSENT(RNN)
PELLUCID_ABSENT(LSTM)
PELLUCID_ABSENT(GRU)
PELLUCID_ABSENT(LSTMCell)
PELLUCID_ABSENT(GRUCell)
PELLUCID_ABSENT(Bilinear)
PELLUCID_ABSENT(EmbeddingBag)
PELLUCID_ABSENT(MultiheadAttention)
PELLUCID_ABSENT(Transformer)
PELLUCID_ABSENT(TransformerEncoder)
PELLUCID_ABSENT(TransformerEncoderLayer)
PELLUCID_ABSENT(ModuleDict)
PELLUCID_ABSENT(ParameterList)
PELLUCID_ABSENT(AnyModule)
#undef PELLUCID_ABSENT

}  // namespace nn

namespace python {

// A module of C++ as a type of Python, with what every module has.
template <class T>
pybind11::class_<T, std::shared_ptr<T>> bind_module(pybind11::module_ scope, const char* name) {
  pybind11::class_<T, std::shared_ptr<T>> made(scope, name);
  made.def(
          "train", [](T& self, bool on) { self.train(on); }, pybind11::arg("mode") = true)
      .def("eval", [](T& self) { self.eval(); })
      .def("zero_grad", [](T& self) { self.zero_grad(); })
      .def("parameters", [](T& self) { return self.parameters(); })
      .def("named_parameters",
           [](T& self) {
             pybind11::dict found;
             for (const auto& each : self.named_parameters()) found[each.key().c_str()] = each.value();
             return found;
           })
      .def_property_readonly("training", [](const T& self) { return self.is_training(); });
  return made;
}

}  // namespace python

namespace optim {

// pellucid.optim's classes over tensors of C++.
class Optimizer {
 public:
  Optimizer(const char* name, const std::vector<at::Tensor>& parameters, const nn::Options& options) {
    const c10::detail::Lock lock;
    const pybind11::object type = pybind11::module_::import("pellucid.optim").attr(name);
    const pybind11::object given = pybind11::make_tuple(parameters);
    object_ = pybind11::object::steal(PyObject_Call(type.ptr(), given.ptr(), options.keywords().ptr()));
  }
  ~Optimizer() {
    const c10::detail::Lock lock;
    object_ = pybind11::object();
  }
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;
  void step() { call("step"); }
  void zero_grad() { call("zero_grad"); }

 private:
  void call(const char* name) const {
    const c10::detail::Lock lock;
    object_.attr(name)();
  }
  pybind11::object object_;
};
#define PELLUCID_OPTIMIZER(name)                                                                           \
  struct name##Options : nn::Options {                                                                     \
    name##Options(double rate) { lr(rate); }                                                               \
    name##Options(const nn::Options& given) : nn::Options(given) {}                                        \
  };                                                                                                       \
  struct name : Optimizer {                                                                                \
    explicit name(const std::vector<at::Tensor>& parameters, const name##Options& options = nn::Options()) \
        : Optimizer(#name, parameters, options) {}                                                         \
  };
PELLUCID_OPTIMIZER(SGD)
PELLUCID_OPTIMIZER(Adam)
PELLUCID_OPTIMIZER(AdamW)
PELLUCID_OPTIMIZER(RMSprop)
#undef PELLUCID_OPTIMIZER

}  // namespace optim
}  // namespace torch
