// torch::nn::Module and modules: a module of C++ holds one of Python, which has its parameters, buffers and children.
//
// Linear, convolutions, norms, pools and activations are Python's modules; Sequential and ModuleList hold modules of
// both languages. Modules with several results or arguments are refused when they are compiled.
#pragma once

#include "pellucid/torch/nn_functional.h"

namespace torch {

// Pairs in order of insertion.
template <class Key, class Item>
class OrderedDict {
 public:
  using value_type = typename c10::Dict<Key, Item>::Entry;
  void insert(Key key, Item item) { entries_.insert(std::move(key), std::move(item)); }
  const Item& operator[](const Key& key) const { return entries_.at(key); }
  const Item* find(const Key& key) const { return contains(key) ? &entries_.at(key) : nullptr; }
  bool contains(const Key& key) const { return entries_.contains(key); }
  size_t size() const { return entries_.size(); }
  bool is_empty() const { return entries_.empty(); }
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }
  std::vector<Key> keys() const {
    std::vector<Key> found;
    for (const auto& entry : *this) found.push_back(entry.key());
    return found;
  }
  std::vector<Item> values() const {
    std::vector<Item> found;
    for (const auto& entry : *this) found.push_back(entry.value());
    return found;
  }

 private:
  c10::Dict<Key, Item> entries_;
};

namespace nn {

// An object of Python that outlives calls without the interpreter lock.
class PythonModule {
 public:
  PythonModule(const char* name, const Options& options) {
    const c10::detail::Lock lock;
    object_ = detail::call_python(pybind11::object(pybind11::module_::import("pellucid.nn").attr(name)), {}, options);
  }
  ~PythonModule() {
    const c10::detail::Lock lock;
    object_ = pybind11::object();
  }
  PythonModule(const PythonModule&) = delete;
  PythonModule& operator=(const PythonModule&) = delete;
  const pybind11::object& object() const { return object_; }
  template <class T, class... Arguments>
  T call(const char* method, const Arguments&... arguments) const {
    const c10::detail::Lock lock;
    const pybind11::object found = object_.attr(method)(arguments...);
    if constexpr (!std::is_void_v<T>) return found.cast<T>();
  }
  at::Tensor tensor(const char* name) const {
    const c10::detail::Lock lock;
    return pybind11::hasattr(object_, name) ? object_.attr(name).cast<at::Tensor>() : at::Tensor();
  }

 private:
  pybind11::object object_;
};

template <class Contained>
class ModuleHolder;

class Module : public std::enable_shared_from_this<Module> {
 public:
  explicit Module(std::string name = "Module") : Module(std::move(name), "Module", {}) {}
  virtual ~Module() = default;
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  at::Tensor& register_parameter(const std::string& name, const at::Tensor& tensor, bool requires_grad = true) {
    const c10::detail::Lock lock;
    const pybind11::object make = pybind11::module_::import("pellucid.nn").attr("Parameter");
    const pybind11::object made = tensor.defined() ? make(tensor, requires_grad) : pybind11::none();
    python_.call<void>("register_parameter", name, made);
    return remember(made.cast<at::Tensor>());
  }
  at::Tensor& register_buffer(const std::string& name, const at::Tensor& tensor) {
    python_.call<void>("register_buffer", name, tensor);
    return remember(tensor);
  }
  template <class T>
  std::shared_ptr<T> register_module(const std::string& name, std::shared_ptr<T> module) {
    const c10::detail::Lock lock;
    if (module) python_.call<void>("add_module", name, module->python().object());
    if (module) children_.insert(name, module);
    return module;
  }
  template <class T>
  std::shared_ptr<T> register_module(const std::string& name, ModuleHolder<T> holder) {
    return register_module(name, holder.ptr());
  }

  std::vector<at::Tensor> parameters(bool recurse = true) const { return named_parameters(recurse).values(); }
  std::vector<at::Tensor> buffers(bool recurse = true) const { return named("named_buffers", recurse).values(); }
  OrderedDict<std::string, at::Tensor> named_parameters(bool recurse = true) const {
    return named("named_parameters", recurse);
  }
  OrderedDict<std::string, at::Tensor> named_buffers(bool recurse = true) const {
    return named("named_buffers", recurse);
  }
  std::vector<std::shared_ptr<Module>> children() const { return children_.values(); }
  const OrderedDict<std::string, std::shared_ptr<Module>>& named_children() const { return children_; }
  virtual void train(bool on = true) {
    python_.call<void>("train", on);
    for (const auto& child : children_) child.value()->train(on);
  }
  void eval() { train(false); }
  bool is_training() const noexcept {
    const c10::detail::Lock lock;
    return python_.object().attr("training").cast<bool>();
  }
  virtual void zero_grad(bool set_to_none = true) { python_.call<void>("zero_grad", set_to_none); }
  virtual void to(at::Device device, bool = false) { convert(device); }
  virtual void to(at::ScalarType dtype, bool = false) { convert(dtype); }
  const std::string& name() const noexcept { return name_; }
  template <class T>
  T* as() {
    return dynamic_cast<T*>(this);
  }
  const PythonModule& python() const { return python_; }

 protected:
  Module(std::string name, const char* type, const Options& options) : name_(std::move(name)), python_(type, options) {}

 private:
  at::Tensor& remember(at::Tensor tensor) { return *tensors_.emplace_back(std::make_unique<at::Tensor>(tensor)); }
  OrderedDict<std::string, at::Tensor> named(const char* method, bool recurse) const {
    const c10::detail::Lock lock;
    OrderedDict<std::string, at::Tensor> found;
    const pybind11::object pairs = python_.object().attr(method)("", recurse);
    for (const pybind11::handle pair : pairs) found.insert(pair[0].cast<std::string>(), pair[1].cast<at::Tensor>());
    return found;
  }
  // Buffers get new elements but remain the same tensors, as parameters do: members of C++ modules refer to both.
  template <class Target>
  void convert(const Target& target) {
    const c10::detail::Lock lock;
    const pybind11::object& self = python_.object();
    const pybind11::list before(self.attr("named_buffers")("", true, false));
    python_.call<void>("to", target);
    for (const pybind11::handle pair : before) {
      const std::string path = pair[0].cast<std::string>();
      const size_t dot = path.rfind('.');
      const pybind11::object owner = self.attr("get_submodule")(dot == path.npos ? "" : path.substr(0, dot));
      const pybind11::object held = owner.attr("_buffers"), buffer = pair[1];
      const std::string leaf = path.substr(dot + 1);  // npos + 1 is 0
      buffer.attr("data") = pybind11::object(held[leaf]);
      held[leaf] = buffer;
    }
  }
  std::string name_;
  PythonModule python_;
  OrderedDict<std::string, std::shared_ptr<Module>> children_;
  std::vector<std::unique_ptr<at::Tensor>> tensors_;
};

// A shared module as a value: `Net net; net->forward(x)`; nullptr for none.
template <class Contained>
class ModuleHolder {
 public:
  using ContainedType = Contained;
  ModuleHolder() : impl_(make()) {}
  ModuleHolder(std::nullptr_t) {}
  ModuleHolder(std::shared_ptr<Contained> module) : impl_(std::move(module)) {}
  template <class Head, class... Tail,
            std::enable_if_t<std::is_constructible_v<Contained, Head, Tail...> &&
                                 !std::is_base_of_v<ModuleHolder, std::decay_t<Head>>,
                             int> = 0>
  explicit ModuleHolder(Head&& head, Tail&&... tail)
      : impl_(std::make_shared<Contained>(std::forward<Head>(head), std::forward<Tail>(tail)...)) {}
  explicit operator bool() const { return impl_ != nullptr; }
  bool is_empty() const { return impl_ == nullptr; }
  Contained* operator->() const { return get(); }
  Contained& operator*() const { return *get(); }
  const std::shared_ptr<Contained>& ptr() const { return impl_; }
  Contained* get() const {
    TORCH_CHECK(impl_, "Accessing empty ModuleHolder: make the module, or assign one to it");
    return impl_.get();
  }
  template <class... Arguments>
  auto operator()(Arguments&&... arguments) const {
    return get()->forward(std::forward<Arguments>(arguments)...);
  }

 private:
  static std::shared_ptr<Contained> make() {
    if constexpr (std::is_default_constructible_v<Contained>) return std::make_shared<Contained>();
    else return nullptr;
  }
  std::shared_ptr<Contained> impl_;
};
#define TORCH_MODULE_IMPL(name, impl)                    \
  class name : public ::torch::nn::ModuleHolder<impl> {  \
   public:                                               \
    using ::torch::nn::ModuleHolder<impl>::ModuleHolder; \
    using Impl = impl;                                   \
  }
#define TORCH_MODULE(name) TORCH_MODULE_IMPL(name, name##Impl)

// A module of Python with one argument; weight and bias where it has them.
class LayerImpl : public Module {
 public:
  LayerImpl(const char* type, const Options& options)
      : Module(std::string("torch::nn::") + type + "Impl", type, options), weight(python().tensor("weight")),
        bias(python().tensor("bias")) {}
  at::Tensor forward(const at::Tensor& input) { return python().call<at::Tensor>("__call__", input); }
  at::Tensor weight, bias;
};
// A module of Python with an input and a target.
class LossImpl : public Module {
 public:
  LossImpl(const char* type, const Options& options)
      : Module(std::string("torch::nn::") + type + "Impl", type, options) {}
  at::Tensor forward(const at::Tensor& input, const at::Tensor& target) {
    return python().call<at::Tensor>("__call__", input, target);
  }
};

PELLUCID_OPTIONS_OF_2(LinearOptions, int64_t, in_features, int64_t, out_features)
PELLUCID_OPTIONS_OF_2(EmbeddingOptions, int64_t, num_embeddings, int64_t, embedding_dim)
struct ConvOptions : Options {
  ConvOptions(int64_t in_channels, int64_t out_channels, Sizes kernel_size) {
    set("in_channels", in_channels).set("out_channels", out_channels).set("kernel_size", std::move(kernel_size));
  }
  ConvOptions(const Options& given) : Options(given) {}
};
PELLUCID_OPTIONS_OF_1(NormOptions, int64_t, num_features)
PELLUCID_OPTIONS_OF_1(LayerNormOptions, std::vector<int64_t>, normalized_shape)
PELLUCID_OPTIONS_OF_2(GroupNormOptions, int64_t, num_groups, int64_t, num_channels)
PELLUCID_OPTIONS_OF_1(PoolOptions, Sizes, kernel_size)
PELLUCID_OPTIONS_OF_1(AdaptivePoolOptions, Sizes, output_size)
PELLUCID_OPTIONS_OF_1(DropoutOptions, double, p)
PELLUCID_OPTIONS_OF_1(SoftmaxOptions, int64_t, dim)
PELLUCID_OPTIONS_OF_1(PixelShuffleOptions, int64_t, upscale_factor)
PELLUCID_OPTIONS_OF_1(PixelUnshuffleOptions, int64_t, downscale_factor)

#define PELLUCID_MODULE_OF(base, name, ...)                      \
  struct name##Impl : base {                                     \
    name##Impl(const Options& options) : base(#name, options) {} \
    __VA_ARGS__                                                  \
  };                                                             \
  TORCH_MODULE(name);
#define PELLUCID_LAYER_(name, ...) PELLUCID_MODULE_OF(LayerImpl, name, __VA_ARGS__)
// Without options, with required ones, and with either.
#define PELLUCID_LAYER(name)     \
  using name##Options = Options; \
  PELLUCID_LAYER_(name, name##Impl() : LayerImpl(#name, {}){})
#define PELLUCID_LAYER_OF(name, kind, first) \
  using name##Options = kind;                \
  PELLUCID_LAYER_(name, explicit name##Impl(first given) : LayerImpl(#name, kind(std::move(given))){})
#define PELLUCID_LAYER_OF_2(name, first, second) \
  PELLUCID_LAYER_(name, name##Impl(first a, second b) : LayerImpl(#name, name##Options(a, b)){})
#define PELLUCID_CONVOLUTION(name)   \
  using name##Options = ConvOptions; \
  PELLUCID_LAYER_(                   \
      name, name##Impl(int64_t in, int64_t out, Sizes kernel) : LayerImpl(#name, ConvOptions(in, out, kernel)){})
PELLUCID_LAYER_OF_2(Linear, int64_t, int64_t)
PELLUCID_LAYER_OF_2(Embedding, int64_t, int64_t)
PELLUCID_LAYER_OF_2(GroupNorm, int64_t, int64_t)
PELLUCID_CONVOLUTION(Conv1d)
PELLUCID_CONVOLUTION(Conv2d)
PELLUCID_CONVOLUTION(Conv3d)
PELLUCID_CONVOLUTION(ConvTranspose1d)
PELLUCID_CONVOLUTION(ConvTranspose2d)
PELLUCID_CONVOLUTION(ConvTranspose3d)
PELLUCID_LAYER_OF(BatchNorm1d, NormOptions, int64_t)
PELLUCID_LAYER_OF(BatchNorm2d, NormOptions, int64_t)
PELLUCID_LAYER_OF(BatchNorm3d, NormOptions, int64_t)
PELLUCID_LAYER_OF(InstanceNorm1d, NormOptions, int64_t)
PELLUCID_LAYER_OF(InstanceNorm2d, NormOptions, int64_t)
PELLUCID_LAYER_OF(InstanceNorm3d, NormOptions, int64_t)
PELLUCID_LAYER_(LayerNorm,
                explicit LayerNormImpl(std::vector<int64_t> shape) : LayerNormImpl(LayerNormOptions(shape)){})
PELLUCID_LAYER_OF(MaxPool1d, PoolOptions, Sizes)
PELLUCID_LAYER_OF(MaxPool2d, PoolOptions, Sizes)
PELLUCID_LAYER_OF(MaxPool3d, PoolOptions, Sizes)
PELLUCID_LAYER_OF(AvgPool1d, PoolOptions, Sizes)
PELLUCID_LAYER_OF(AvgPool2d, PoolOptions, Sizes)
PELLUCID_LAYER_OF(AvgPool3d, PoolOptions, Sizes)
PELLUCID_LAYER_OF(AdaptiveAvgPool1d, AdaptivePoolOptions, Sizes)
PELLUCID_LAYER_OF(AdaptiveAvgPool2d, AdaptivePoolOptions, Sizes)
PELLUCID_LAYER_OF(AdaptiveAvgPool3d, AdaptivePoolOptions, Sizes)
PELLUCID_LAYER_OF(AdaptiveMaxPool1d, AdaptivePoolOptions, Sizes)
PELLUCID_LAYER_OF(AdaptiveMaxPool2d, AdaptivePoolOptions, Sizes)
PELLUCID_LAYER_OF(PixelShuffle, PixelShuffleOptions, int64_t)
PELLUCID_LAYER_OF(PixelUnshuffle, PixelUnshuffleOptions, int64_t)
PELLUCID_LAYER_(Dropout, explicit DropoutImpl(double p = 0.5) : DropoutImpl(DropoutOptions(p)){})
using Dropout2dOptions = DropoutOptions;
PELLUCID_LAYER_(Dropout2d, explicit Dropout2dImpl(double p = 0.5) : Dropout2dImpl(DropoutOptions(p)){})
using Dropout3dOptions = DropoutOptions;
PELLUCID_LAYER_(Dropout3d, explicit Dropout3dImpl(double p = 0.5) : Dropout3dImpl(DropoutOptions(p)){})
PELLUCID_LAYER_(Softmax, explicit SoftmaxImpl(int64_t dim) : SoftmaxImpl(SoftmaxOptions(dim)){})
PELLUCID_LAYER_(LogSoftmax, explicit LogSoftmaxImpl(int64_t dim) : LogSoftmaxImpl(SoftmaxOptions(dim)){})
PELLUCID_LAYER(ReLU)
PELLUCID_LAYER(ReLU6)
PELLUCID_LAYER(LeakyReLU)
PELLUCID_LAYER(ELU)
PELLUCID_LAYER(GELU)
PELLUCID_LAYER(SiLU)
PELLUCID_LAYER(Sigmoid)
PELLUCID_LAYER(Tanh)
PELLUCID_LAYER(Softplus)
PELLUCID_LAYER(Hardswish)
PELLUCID_LAYER(Hardsigmoid)
PELLUCID_LAYER(Hardtanh)
PELLUCID_LAYER(SELU)
PELLUCID_LAYER(CELU)
PELLUCID_LAYER(Mish)
PELLUCID_LAYER(LogSigmoid)
PELLUCID_LAYER(Softsign)
PELLUCID_LAYER(Tanhshrink)
PELLUCID_LAYER(Upsample)
PELLUCID_LAYER(Identity)
PELLUCID_LAYER(Flatten)
#define PELLUCID_LOSS(name)      \
  using name##Options = Options; \
  PELLUCID_MODULE_OF(LossImpl, name, name##Impl() : LossImpl(#name, {}){})
PELLUCID_LOSS(CrossEntropyLoss)
PELLUCID_LOSS(NLLLoss)
PELLUCID_LOSS(MSELoss)
PELLUCID_LOSS(L1Loss)
PELLUCID_LOSS(SmoothL1Loss)
PELLUCID_LOSS(HuberLoss)
PELLUCID_LOSS(KLDivLoss)
PELLUCID_LOSS(BCELoss)
PELLUCID_LOSS(BCEWithLogitsLoss)
PELLUCID_LOSS(SoftMarginLoss)
PELLUCID_LOSS(PoissonNLLLoss)
PELLUCID_LOSS(MultiMarginLoss)
PELLUCID_LOSS(MultiLabelMarginLoss)
PELLUCID_LOSS(HingeEmbeddingLoss)
#undef PELLUCID_LOSS
#undef PELLUCID_MODULE_OF
#undef PELLUCID_LAYER
#undef PELLUCID_LAYER_OF
#undef PELLUCID_LAYER_OF_2
#undef PELLUCID_CONVOLUTION
#undef PELLUCID_LAYER_

}  // namespace nn
}  // namespace torch
