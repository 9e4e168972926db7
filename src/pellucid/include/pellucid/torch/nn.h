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

#define PELLUCID_ABSENT(space, name)                                                             \
  struct name {                                                                                  \
    template <class... Arguments>                                                                \
    explicit name(Arguments&&...) {                                                              \
      static_assert(sizeof(std::tuple<Arguments...>) == 0,                                       \
                    "torch::" #space "::" #name                                                  \
                    " is not offered in C++: call the op (at::lstm, ...) or make the object in " \
                    "Python; docs/cpp-extensions.md lists what is offered");                     \
    }                                                                                            \
  };
PELLUCID_ABSENT(nn, RNN)
PELLUCID_ABSENT(nn, LSTM)
PELLUCID_ABSENT(nn, GRU)
PELLUCID_ABSENT(nn, LSTMCell)
PELLUCID_ABSENT(nn, GRUCell)
PELLUCID_ABSENT(nn, Bilinear)
PELLUCID_ABSENT(nn, EmbeddingBag)
PELLUCID_ABSENT(nn, MultiheadAttention)
PELLUCID_ABSENT(nn, Transformer)
PELLUCID_ABSENT(nn, TransformerEncoder)
PELLUCID_ABSENT(nn, TransformerEncoderLayer)
PELLUCID_ABSENT(nn, ModuleDict)
PELLUCID_ABSENT(nn, ParameterList)
PELLUCID_ABSENT(nn, AnyModule)
PELLUCID_ABSENT(nn, RNNCell)
PELLUCID_ABSENT(nn, ParameterDict)
PELLUCID_ABSENT(nn, AlphaDropout)
PELLUCID_ABSENT(nn, FeatureAlphaDropout)
PELLUCID_ABSENT(nn, Unfold)
PELLUCID_ABSENT(nn, Fold)
PELLUCID_ABSENT(nn, Unflatten)
PELLUCID_ABSENT(nn, Softmin)
PELLUCID_ABSENT(nn, Softmax2d)
PELLUCID_ABSENT(nn, GLU)
PELLUCID_ABSENT(nn, Threshold)
PELLUCID_ABSENT(nn, PReLU)
PELLUCID_ABSENT(nn, RReLU)
PELLUCID_ABSENT(nn, Hardshrink)
PELLUCID_ABSENT(nn, Softshrink)
PELLUCID_ABSENT(nn, LPPool1d)
PELLUCID_ABSENT(nn, LPPool2d)
PELLUCID_ABSENT(nn, FractionalMaxPool2d)
PELLUCID_ABSENT(nn, FractionalMaxPool3d)
PELLUCID_ABSENT(nn, MaxUnpool1d)
PELLUCID_ABSENT(nn, MaxUnpool2d)
PELLUCID_ABSENT(nn, MaxUnpool3d)
PELLUCID_ABSENT(nn, AdaptiveMaxPool3d)
PELLUCID_ABSENT(nn, LocalResponseNorm)
PELLUCID_ABSENT(nn, CrossMapLRN2d)
PELLUCID_ABSENT(nn, CosineSimilarity)
PELLUCID_ABSENT(nn, PairwiseDistance)
PELLUCID_ABSENT(nn, ReflectionPad1d)
PELLUCID_ABSENT(nn, ReflectionPad2d)
PELLUCID_ABSENT(nn, ReflectionPad3d)
PELLUCID_ABSENT(nn, ReplicationPad1d)
PELLUCID_ABSENT(nn, ReplicationPad2d)
PELLUCID_ABSENT(nn, ReplicationPad3d)
PELLUCID_ABSENT(nn, ConstantPad1d)
PELLUCID_ABSENT(nn, ConstantPad2d)
PELLUCID_ABSENT(nn, ConstantPad3d)
PELLUCID_ABSENT(nn, ZeroPad1d)
PELLUCID_ABSENT(nn, ZeroPad2d)
PELLUCID_ABSENT(nn, ZeroPad3d)
PELLUCID_ABSENT(nn, TripletMarginLoss)
PELLUCID_ABSENT(nn, TripletMarginWithDistanceLoss)
PELLUCID_ABSENT(nn, MarginRankingLoss)
PELLUCID_ABSENT(nn, CosineEmbeddingLoss)
PELLUCID_ABSENT(nn, CTCLoss)
PELLUCID_ABSENT(nn, MultiLabelSoftMarginLoss)
PELLUCID_ABSENT(nn, AdaptiveLogSoftmaxWithLoss)
PELLUCID_ABSENT(nn, TransformerDecoder)
PELLUCID_ABSENT(nn, TransformerDecoderLayer)

}  // namespace nn

// The state of a module in a file, which torch.load reads as a dictionary; and a module's state from such a file.
template <class T, std::enable_if_t<std::is_base_of_v<nn::Module, T>, int> = 0>
void save(const std::shared_ptr<T>& module, const std::string& path) {
  const c10::detail::Lock lock;
  const pybind11::object state = module->python().object().attr("state_dict")();
  pybind11::module_::import("pellucid").attr("save")(state, path);
}
template <class T>
void save(const nn::ModuleHolder<T>& module, const std::string& path) {
  save(module.ptr(), path);
}
template <class T, std::enable_if_t<std::is_base_of_v<nn::Module, T>, int> = 0>
void load(const std::shared_ptr<T>& module, const std::string& path) {
  const c10::detail::Lock lock;
  const pybind11::object state = pybind11::module_::import("pellucid").attr("load")(path);
  module->python().template call<void>("load_state_dict", state);
}
template <class T>
void load(nn::ModuleHolder<T>& module, const std::string& path) {
  load(module.ptr(), path);
}

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
    const pybind11::object given = pybind11::make_tuple(at::IValue(parameters));
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
PELLUCID_OPTIMIZER(Adagrad)
#undef PELLUCID_OPTIMIZER
PELLUCID_ABSENT(optim, LBFGS)
#undef PELLUCID_ABSENT

}  // namespace optim
}  // namespace torch
