// torch::nn::functional: the functions of pellucid.nn.functional, called with tensors and options.
#pragma once

#include "pellucid/torch/nn_options.h"

namespace torch::nn::functional {

namespace detail {

inline pybind11::object call(const char* name, const std::vector<at::Tensor>& tensors, const Options& options) {
  const pybind11::object function = pybind11::module_::import("pellucid.nn.functional").attr(name);
  return nn::detail::call_python(function, tensors, options);
}
inline at::Tensor apply(const char* name, const std::vector<at::Tensor>& tensors, const Options& options) {
  const c10::detail::Lock lock;
  return call(name, tensors, options).cast<at::Tensor>();
}
inline std::tuple<at::Tensor, at::Tensor> apply_both(const char* name, const at::Tensor& tensor, Options options) {
  const c10::detail::Lock lock;
  return call(name, {tensor}, options.set("return_indices", true)).cast<std::tuple<at::Tensor, at::Tensor>>();
}

}  // namespace detail

// Options that are all optional.
#define PELLUCID_PLAIN(name) using name##FuncOptions = Options;
PELLUCID_PLAIN(Interpolate)
PELLUCID_PLAIN(GridSample)
PELLUCID_PLAIN(Conv1d)
PELLUCID_PLAIN(Conv2d)
PELLUCID_PLAIN(Conv3d)
PELLUCID_PLAIN(ConvTranspose1d)
PELLUCID_PLAIN(ConvTranspose2d)
PELLUCID_PLAIN(ConvTranspose3d)
PELLUCID_PLAIN(Normalize)
PELLUCID_PLAIN(BatchNorm)
PELLUCID_PLAIN(InstanceNorm)
PELLUCID_PLAIN(LeakyReLU)
PELLUCID_PLAIN(ELU)
PELLUCID_PLAIN(CELU)
PELLUCID_PLAIN(SELU)
PELLUCID_PLAIN(GELU)
PELLUCID_PLAIN(ReLU)
PELLUCID_PLAIN(ReLU6)
PELLUCID_PLAIN(Hardtanh)
PELLUCID_PLAIN(Softplus)
PELLUCID_PLAIN(Dropout)
PELLUCID_PLAIN(Dropout2d)
PELLUCID_PLAIN(Embedding)
PELLUCID_PLAIN(CrossEntropy)
PELLUCID_PLAIN(NLLLoss)
PELLUCID_PLAIN(MSELoss)
PELLUCID_PLAIN(L1Loss)
PELLUCID_PLAIN(SmoothL1Loss)
PELLUCID_PLAIN(HuberLoss)
PELLUCID_PLAIN(BinaryCrossEntropy)
PELLUCID_PLAIN(BinaryCrossEntropyWithLogits)
PELLUCID_PLAIN(KLDiv)
PELLUCID_PLAIN(CosineSimilarity)
PELLUCID_PLAIN(PairwiseDistance)
#undef PELLUCID_PLAIN
PELLUCID_OPTIONS_OF_1(PadFuncOptions, std::vector<int64_t>, pad)
PELLUCID_OPTIONS_OF_1(PoolFuncOptions, Sizes, kernel_size)
PELLUCID_OPTIONS_OF_1(AdaptivePoolFuncOptions, Sizes, output_size)
PELLUCID_OPTIONS_OF_1(UnfoldFuncOptions, Sizes, kernel_size)
PELLUCID_OPTIONS_OF_2(FoldFuncOptions, Sizes, output_size, Sizes, kernel_size)
PELLUCID_OPTIONS_OF_1(PixelShuffleFuncOptions, int64_t, upscale_factor)
PELLUCID_OPTIONS_OF_1(PixelUnshuffleFuncOptions, int64_t, downscale_factor)
PELLUCID_OPTIONS_OF_1(LayerNormFuncOptions, std::vector<int64_t>, normalized_shape)
PELLUCID_OPTIONS_OF_1(GroupNormFuncOptions, int64_t, num_groups)
PELLUCID_OPTIONS_OF_1(SoftmaxFuncOptions, int64_t, dim)
PELLUCID_OPTIONS_OF_1(GLUFuncOptions, int64_t, dim)
using LogSoftmaxFuncOptions = SoftmaxFuncOptions;
using SoftminFuncOptions = SoftmaxFuncOptions;
using MaxPool1dFuncOptions = PoolFuncOptions;
using MaxPool2dFuncOptions = PoolFuncOptions;
using MaxPool3dFuncOptions = PoolFuncOptions;
using AvgPool1dFuncOptions = PoolFuncOptions;
using AvgPool2dFuncOptions = PoolFuncOptions;
using AvgPool3dFuncOptions = PoolFuncOptions;
using AdaptiveAvgPool1dFuncOptions = AdaptivePoolFuncOptions;
using AdaptiveAvgPool2dFuncOptions = AdaptivePoolFuncOptions;
using AdaptiveAvgPool3dFuncOptions = AdaptivePoolFuncOptions;
using AdaptiveMaxPool1dFuncOptions = AdaptivePoolFuncOptions;
using AdaptiveMaxPool2dFuncOptions = AdaptivePoolFuncOptions;

// Of one tensor, where options may be left out; and where one of them is required.
#define PELLUCID_FUNCTION(name)                                                  \
  inline at::Tensor name(const at::Tensor& input, const Options& options = {}) { \
    return detail::apply(#name, {input}, options);                               \
  }
#define PELLUCID_FUNCTION_OF(name, kind)                                 \
  inline at::Tensor name(const at::Tensor& input, const kind& options) { \
    return detail::apply(#name, {input}, options);                       \
  }
#define PELLUCID_FUNCTION_2(name)                                                                 \
  inline at::Tensor name(const at::Tensor& a, const at::Tensor& b, const Options& options = {}) { \
    return detail::apply(#name, {a, b}, options);                                                 \
  }
PELLUCID_FUNCTION(interpolate)
PELLUCID_FUNCTION(normalize)
PELLUCID_FUNCTION(leaky_relu)
PELLUCID_FUNCTION(elu)
PELLUCID_FUNCTION(celu)
PELLUCID_FUNCTION(selu)
PELLUCID_FUNCTION(gelu)
PELLUCID_FUNCTION(relu)
PELLUCID_FUNCTION(relu6)
PELLUCID_FUNCTION(hardtanh)
PELLUCID_FUNCTION(hardswish)
PELLUCID_FUNCTION(hardsigmoid)
PELLUCID_FUNCTION(softplus)
PELLUCID_FUNCTION(softsign)
PELLUCID_FUNCTION(tanhshrink)
PELLUCID_FUNCTION(logsigmoid)
PELLUCID_FUNCTION(silu)
PELLUCID_FUNCTION(mish)
PELLUCID_FUNCTION(dropout)
PELLUCID_FUNCTION(dropout2d)
PELLUCID_FUNCTION(instance_norm)
PELLUCID_FUNCTION_OF(pad, PadFuncOptions)
PELLUCID_FUNCTION_OF(max_pool1d, PoolFuncOptions)
PELLUCID_FUNCTION_OF(max_pool2d, PoolFuncOptions)
PELLUCID_FUNCTION_OF(max_pool3d, PoolFuncOptions)
PELLUCID_FUNCTION_OF(avg_pool1d, PoolFuncOptions)
PELLUCID_FUNCTION_OF(avg_pool2d, PoolFuncOptions)
PELLUCID_FUNCTION_OF(avg_pool3d, PoolFuncOptions)
PELLUCID_FUNCTION_OF(adaptive_avg_pool1d, AdaptivePoolFuncOptions)
PELLUCID_FUNCTION_OF(adaptive_avg_pool2d, AdaptivePoolFuncOptions)
PELLUCID_FUNCTION_OF(adaptive_avg_pool3d, AdaptivePoolFuncOptions)
PELLUCID_FUNCTION_OF(adaptive_max_pool1d, AdaptivePoolFuncOptions)
PELLUCID_FUNCTION_OF(adaptive_max_pool2d, AdaptivePoolFuncOptions)
PELLUCID_FUNCTION_OF(unfold, UnfoldFuncOptions)
PELLUCID_FUNCTION_OF(fold, FoldFuncOptions)
PELLUCID_FUNCTION_OF(pixel_shuffle, PixelShuffleFuncOptions)
PELLUCID_FUNCTION_OF(pixel_unshuffle, PixelUnshuffleFuncOptions)
PELLUCID_FUNCTION_OF(layer_norm, LayerNormFuncOptions)
PELLUCID_FUNCTION_OF(group_norm, GroupNormFuncOptions)
PELLUCID_FUNCTION_OF(softmax, SoftmaxFuncOptions)
PELLUCID_FUNCTION_OF(log_softmax, SoftmaxFuncOptions)
PELLUCID_FUNCTION_OF(softmin, SoftmaxFuncOptions)
PELLUCID_FUNCTION_OF(glu, GLUFuncOptions)
PELLUCID_FUNCTION_2(grid_sample)
PELLUCID_FUNCTION_2(conv1d)
PELLUCID_FUNCTION_2(conv2d)
PELLUCID_FUNCTION_2(conv3d)
PELLUCID_FUNCTION_2(conv_transpose1d)
PELLUCID_FUNCTION_2(conv_transpose2d)
PELLUCID_FUNCTION_2(conv_transpose3d)
PELLUCID_FUNCTION_2(embedding)
PELLUCID_FUNCTION_2(cross_entropy)
PELLUCID_FUNCTION_2(nll_loss)
PELLUCID_FUNCTION_2(mse_loss)
PELLUCID_FUNCTION_2(l1_loss)
PELLUCID_FUNCTION_2(smooth_l1_loss)
PELLUCID_FUNCTION_2(huber_loss)
PELLUCID_FUNCTION_2(binary_cross_entropy)
PELLUCID_FUNCTION_2(binary_cross_entropy_with_logits)
PELLUCID_FUNCTION_2(kl_div)
PELLUCID_FUNCTION_2(cosine_similarity)
PELLUCID_FUNCTION_2(pairwise_distance)
#undef PELLUCID_FUNCTION
#undef PELLUCID_FUNCTION_OF
#undef PELLUCID_FUNCTION_2

inline at::Tensor linear(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias = {}) {
  return detail::apply("linear", {input, weight}, Options().bias(bias));
}
inline at::Tensor batch_norm(const at::Tensor& input, const at::Tensor& mean, const at::Tensor& var,
                             const Options& options = {}) {
  return detail::apply("batch_norm", {input, mean, var}, options);
}
inline at::Tensor one_hot(const at::Tensor& input, int64_t num_classes = -1) {
  return detail::apply("one_hot", {input}, Options().set("num_classes", num_classes));
}
inline at::Tensor affine_grid(const at::Tensor& theta, at::IntArrayRef size, bool align_corners = false) {
  return detail::apply("affine_grid", {theta}, Options().size(size.vec()).align_corners(align_corners));
}
inline std::tuple<at::Tensor, at::Tensor> max_pool2d_with_indices(const at::Tensor& input,
                                                                  const PoolFuncOptions& options) {
  return detail::apply_both("max_pool2d", input, options);
}

}  // namespace torch::nn::functional
