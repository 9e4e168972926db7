// The options of torch::nn: names and values, which become keywords of Python's functions and classes.
//
// One class has the setters of all of them; what a function does not take is its TypeError. Read next: nn_functional.h.
#pragma once

#include "pellucid/torch/all.h"

namespace torch {

// A choice among names: torch::kReflect, torch::kMean.
struct Choice {
  const char* name;
  operator at::IValue() const { return name; }
};
constexpr Choice kLinear{"linear"}, kConv1D{"conv1d"}, kConv2D{"conv2d"}, kConv3D{"conv3d"}, kSigmoid{"sigmoid"},
    kTanh{"tanh"}, kReLU{"relu"}, kGELU{"gelu"}, kSiLU{"silu"}, kLeakyReLU{"leaky_relu"}, kFanIn{"fan_in"},
    kFanOut{"fan_out"}, kConstant{"constant"}, kReflect{"reflect"}, kReplicate{"replicate"}, kCircular{"circular"},
    kNearest{"nearest"}, kBilinear{"bilinear"}, kBicubic{"bicubic"}, kTrilinear{"trilinear"}, kArea{"area"},
    kNearestExact{"nearest-exact"}, kSum{"sum"}, kMean{"mean"}, kMax{"max"}, kNone{"none"}, kBatchMean{"batchmean"},
    kZeros{"zeros"}, kBorder{"border"}, kReflection{"reflection"}, kSame{"same"}, kValid{"valid"};

namespace nn {

// A number for all dimensions, one for each, or a choice.
class Sizes {
 public:
  template <class T, std::enable_if_t<std::is_integral_v<T>, int> = 0>
  Sizes(T one) : value_(static_cast<int64_t>(one)) {}
  Sizes(std::initializer_list<int64_t> many) : value_(std::vector<int64_t>(many)) {}
  Sizes(std::vector<int64_t> many) : value_(std::move(many)) {}
  Sizes(at::IntArrayRef many) : value_(many.vec()) {}
  Sizes(Choice choice) : value_(choice) {}
  operator at::IValue() const { return value_; }

 private:
  at::IValue value_;
};

class Options {
 public:
  Options() = default;
#define PELLUCID_OPTION(type, name) \
  Options& name(type value) { return set(#name, std::move(value)); }
  PELLUCID_OPTION(Sizes, kernel_size)
  PELLUCID_OPTION(Sizes, stride)
  PELLUCID_OPTION(Sizes, padding)
  PELLUCID_OPTION(Sizes, dilation)
  PELLUCID_OPTION(Sizes, output_padding)
  PELLUCID_OPTION(Sizes, output_size)
  PELLUCID_OPTION(Sizes, pad)
  PELLUCID_OPTION(Sizes, normalized_shape)
  PELLUCID_OPTION(std::vector<int64_t>, size)
  PELLUCID_OPTION(std::vector<double>, scale_factor)
  PELLUCID_OPTION(Choice, mode)
  PELLUCID_OPTION(Choice, padding_mode)
  PELLUCID_OPTION(Choice, reduction)
  PELLUCID_OPTION(std::string, approximate)
  PELLUCID_OPTION(at::Tensor, weight)
  PELLUCID_OPTION(at::Tensor, pos_weight)
  PELLUCID_OPTION(at::Tensor, running_mean)
  PELLUCID_OPTION(at::Tensor, running_var)
  PELLUCID_OPTION(int64_t, groups)
  PELLUCID_OPTION(int64_t, dim)
  PELLUCID_OPTION(int64_t, ignore_index)
  PELLUCID_OPTION(int64_t, padding_idx)
  PELLUCID_OPTION(int64_t, divisor_override)
  PELLUCID_OPTION(int64_t, start_dim)
  PELLUCID_OPTION(int64_t, end_dim)
  PELLUCID_OPTION(double, p)
  PELLUCID_OPTION(double, value)
  PELLUCID_OPTION(double, eps)
  PELLUCID_OPTION(double, alpha)
  PELLUCID_OPTION(double, beta)
  PELLUCID_OPTION(double, delta)
  PELLUCID_OPTION(double, threshold)
  PELLUCID_OPTION(double, margin)
  PELLUCID_OPTION(double, min_val)
  PELLUCID_OPTION(double, max_val)
  PELLUCID_OPTION(double, negative_slope)
  PELLUCID_OPTION(double, label_smoothing)
  PELLUCID_OPTION(double, max_norm)
  PELLUCID_OPTION(double, norm_type)
  PELLUCID_OPTION(double, lr)
  PELLUCID_OPTION(double, momentum)
  PELLUCID_OPTION(double, weight_decay)
  PELLUCID_OPTION(double, dampening)
  PELLUCID_OPTION(bool, nesterov)
  PELLUCID_OPTION(bool, amsgrad)
  PELLUCID_OPTION(bool, align_corners)
  PELLUCID_OPTION(bool, recompute_scale_factor)
  PELLUCID_OPTION(bool, antialias)
  PELLUCID_OPTION(bool, ceil_mode)
  PELLUCID_OPTION(bool, count_include_pad)
  PELLUCID_OPTION(bool, inplace)
  PELLUCID_OPTION(bool, training)
  PELLUCID_OPTION(bool, affine)
  PELLUCID_OPTION(bool, elementwise_affine)
  PELLUCID_OPTION(bool, track_running_stats)
  PELLUCID_OPTION(bool, use_input_stats)
  PELLUCID_OPTION(bool, log_target)
  PELLUCID_OPTION(bool, keepdim)
  PELLUCID_OPTION(bool, sparse)
  PELLUCID_OPTION(bool, scale_grad_by_freq)
#undef PELLUCID_OPTION
  // A tensor for functions, whether there is one for modules.
  Options& bias(at::Tensor value) { return set("bias", std::move(value)); }
  Options& bias(bool value) { return set("bias", value); }
  Options& dtype(at::ScalarType value) { return set("dtype", value); }
  Options& betas(std::tuple<double, double> value) {
    return set("betas", std::vector<double>{std::get<0>(value), std::get<1>(value)});
  }

  Options& set(const char* name, at::IValue value) {
    for (auto& [known, held] : values_)
      if (std::string_view(known) == name) {
        held = std::move(value);
        return *this;
      }
    values_.emplace_back(name, std::move(value));
    return *this;
  }
  // The keywords; the interpreter lock is held.
  pybind11::dict keywords() const {
    const pybind11::dict made;
    for (const auto& [name, value] : values_) {
      if (std::string_view(name) == "dtype") made[name] = value.toScalarType();
      else made[name] = value;
    }
    return made;
  }

 private:
  std::vector<std::pair<const char*, at::IValue>> values_;
};

namespace detail {

// A member of a module of Python called with tensors, then keywords.
inline pybind11::object call_python(pybind11::handle function, const std::vector<at::Tensor>& tensors,
                                    const Options& options) {
  const pybind11::list given;
  for (const at::Tensor& tensor : tensors) given.append(tensor);
  return pybind11::object::steal(PyObject_Call(function.ptr(), pybind11::tuple(given).ptr(), options.keywords().ptr()));
}

}  // namespace detail
}  // namespace nn
}  // namespace torch

// Options whose first ones are given to their constructor.
#define PELLUCID_OPTIONS_OF_1(class, type, name)      \
  struct class : Options {                            \
    class(type name) { set(#name, std::move(name)); } \
    class(const Options& given) : Options(given) {}   \
  };
#define PELLUCID_OPTIONS_OF_2(class, type0, name0, type1, name1) \
  struct class : Options {                                       \
    class(type0 name0, type1 name1) {                            \
      set(#name0, std::move(name0));                             \
      set(#name1, std::move(name1));                             \
    }                                                            \
    class(const Options& given) : Options(given) {}              \
  };
