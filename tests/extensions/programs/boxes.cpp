// Suppression of boxes and pooling of regions, as libraries of detection write them: one file of schemas, kernels per
// key, a derivative that calls the op below, autocast.
#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>
#include <torch/autograd.h>
#include <torch/library.h>
#include <torch/types.h>

namespace vision {
namespace ops {

at::Tensor nms(const at::Tensor& dets, const at::Tensor& scores, double iou_threshold) {
  static auto op = c10::Dispatcher::singleton().findSchemaOrThrow("boxes::nms", "").typed<decltype(nms)>();
  return op.call(dets, scores, iou_threshold);
}

at::Tensor roi_pool(const at::Tensor& input, const at::Tensor& rois, double spatial_scale, int64_t pooled_height,
                    int64_t pooled_width) {
  static auto op = c10::Dispatcher::singleton().findSchemaOrThrow("boxes::roi_pool", "").typed<decltype(roi_pool)>();
  return op.call(input, rois, spatial_scale, pooled_height, pooled_width);
}

namespace detail {
at::Tensor _roi_pool_backward(const at::Tensor& grad, const at::Tensor& rois, double spatial_scale,
                              int64_t pooled_height, int64_t pooled_width, int64_t batch_size, int64_t channels,
                              int64_t height, int64_t width) {
  static auto op = c10::Dispatcher::singleton()
                       .findSchemaOrThrow("boxes::_roi_pool_backward", "")
                       .typed<decltype(_roi_pool_backward)>();
  return op.call(grad, rois, spatial_scale, pooled_height, pooled_width, batch_size, channels, height, width);
}
}  // namespace detail

namespace {

template <typename scalar_t>
at::Tensor nms_kernel_impl(const at::Tensor& dets, const at::Tensor& scores, double iou_threshold) {
  TORCH_CHECK(dets.is_cpu(), "dets must be a CPU tensor");
  TORCH_CHECK(dets.scalar_type() == scores.scalar_type(), "dets should have the same type as scores");
  if (dets.numel() == 0) return at::empty({0}, dets.options().dtype(at::kLong));

  auto x1_t = dets.select(1, 0).contiguous();
  auto y1_t = dets.select(1, 1).contiguous();
  auto x2_t = dets.select(1, 2).contiguous();
  auto y2_t = dets.select(1, 3).contiguous();
  at::Tensor areas_t = (x2_t - x1_t) * (y2_t - y1_t);
  auto order_t = std::get<1>(scores.sort(/*stable=*/true, /*dim=*/0, /*descending=*/true));

  auto ndets = dets.size(0);
  at::Tensor suppressed_t = at::zeros({ndets}, dets.options().dtype(at::kByte));
  at::Tensor keep_t = at::zeros({ndets}, dets.options().dtype(at::kLong));
  auto suppressed = suppressed_t.data_ptr<uint8_t>();
  auto keep = keep_t.data_ptr<int64_t>();
  auto order = order_t.const_data_ptr<int64_t>();
  auto x1 = x1_t.const_data_ptr<scalar_t>();
  auto y1 = y1_t.const_data_ptr<scalar_t>();
  auto x2 = x2_t.const_data_ptr<scalar_t>();
  auto y2 = y2_t.const_data_ptr<scalar_t>();
  auto areas = areas_t.const_data_ptr<scalar_t>();
  int64_t num_to_keep = 0;
  for (int64_t _i = 0; _i < ndets; _i++) {
    auto i = order[_i];
    if (suppressed[i] == 1) continue;
    keep[num_to_keep++] = i;
    for (int64_t _j = _i + 1; _j < ndets; _j++) {
      auto j = order[_j];
      if (suppressed[j] == 1) continue;
      auto w = std::max(static_cast<scalar_t>(0), std::min(x2[i], x2[j]) - std::max(x1[i], x1[j]));
      auto h = std::max(static_cast<scalar_t>(0), std::min(y2[i], y2[j]) - std::max(y1[i], y1[j]));
      auto inter = w * h;
      if (inter / (areas[i] + areas[j] - inter) > iou_threshold) suppressed[j] = 1;
    }
  }
  return keep_t.narrow(/*dim=*/0, /*start=*/0, /*length=*/num_to_keep);
}

at::Tensor nms_kernel(const at::Tensor& dets, const at::Tensor& scores, double iou_threshold) {
  TORCH_CHECK(dets.dim() == 2, "boxes should be a 2d tensor, got ", dets.dim(), "D");
  TORCH_CHECK(dets.size(1) == 4, "boxes should have 4 elements in dimension 1, got ", dets.size(1));
  TORCH_CHECK(dets.size(0) == scores.size(0), "boxes and scores should have same number of elements in ",
              "dimension 0, got ", dets.size(0), " and ", scores.size(0));
  auto result = at::empty({0}, dets.options());
  AT_DISPATCH_FLOATING_TYPES(dets.scalar_type(), "nms_kernel",
                             [&] { result = nms_kernel_impl<scalar_t>(dets, scores, iou_threshold); });
  return result;
}

template <class T>
void pool_region(const T* rois, int64_t n, double scale, int64_t ph, int64_t pw, int64_t pooled_height,
                 int64_t pooled_width, int64_t height, int64_t width, int64_t& h0, int64_t& h1, int64_t& w0,
                 int64_t& w1) {
  const T* roi = rois + n * 5;
  const T top = roi[2] * scale, left = roi[1] * scale;
  const T bin_h = std::max<T>(roi[4] * scale - top, 1) / pooled_height;
  const T bin_w = std::max<T>(roi[3] * scale - left, 1) / pooled_width;
  h0 = std::min(std::max(static_cast<int64_t>(std::floor(top + ph * bin_h)), int64_t(0)), height);
  h1 = std::min(std::max(static_cast<int64_t>(std::ceil(top + (ph + 1) * bin_h)), int64_t(0)), height);
  w0 = std::min(std::max(static_cast<int64_t>(std::floor(left + pw * bin_w)), int64_t(0)), width);
  w1 = std::min(std::max(static_cast<int64_t>(std::ceil(left + (pw + 1) * bin_w)), int64_t(0)), width);
}

template <class T, class Visit>
void visit_bins(const at::Tensor& rois, double scale, int64_t pooled_height, int64_t pooled_width, int64_t channels,
                int64_t height, int64_t width, Visit visit) {
  const T* rois_data = rois.const_data_ptr<T>();
  int64_t out = 0;
  for (int64_t n = 0; n < rois.size(0); n++)
    for (int64_t c = 0; c < channels; c++)
      for (int64_t ph = 0; ph < pooled_height; ph++)
        for (int64_t pw = 0; pw < pooled_width; pw++, out++) {
          int64_t h0, h1, w0, w1;
          pool_region(rois_data, n, scale, ph, pw, pooled_height, pooled_width, height, width, h0, h1, w0, w1);
          const auto plane = (static_cast<int64_t>(rois_data[n * 5]) * channels + c) * height * width;
          const T share = T(1) / std::max<int64_t>((h1 - h0) * (w1 - w0), 1);
          for (auto h = h0; h < h1; h++)
            for (auto w = w0; w < w1; w++) visit(out, plane + h * width + w, share);
        }
}

at::Tensor roi_pool_forward_kernel(const at::Tensor& input, const at::Tensor& rois, double spatial_scale,
                                   int64_t pooled_height, int64_t pooled_width) {
  TORCH_CHECK(input.device().is_cpu(), "input must be a CPU tensor");
  TORCH_CHECK(rois.size(1) == 5, "Tensor rois should have shape as Tensor[K, 5]");
  at::TensorArg input_t{input, "input", 1}, rois_t{rois, "rois", 2};
  at::CheckedFrom c = "roi_pool_forward_kernel";
  at::checkAllSameType(c, {input_t, rois_t});
  auto output = at::zeros({rois.size(0), input.size(1), pooled_height, pooled_width}, input.options());
  if (output.numel() == 0) return output;
  auto input_ = input.contiguous(), rois_ = rois.contiguous();
  AT_DISPATCH_FLOATING_TYPES_AND_HALF(input.scalar_type(), "roi_pool_forward_kernel", [&] {
    auto from = input_.const_data_ptr<scalar_t>();
    auto to = output.mutable_data_ptr<scalar_t>();
    visit_bins<scalar_t>(rois_, spatial_scale, pooled_height, pooled_width, input.size(1), input.size(2), input.size(3),
                         [&](int64_t o, int64_t i, scalar_t share) { to[o] += from[i] * share; });
  });
  return output;
}

at::Tensor roi_pool_backward_kernel(const at::Tensor& grad, const at::Tensor& rois, double spatial_scale,
                                    int64_t pooled_height, int64_t pooled_width, int64_t batch_size, int64_t channels,
                                    int64_t height, int64_t width) {
  at::Tensor grad_input = at::zeros({batch_size, channels, height, width}, grad.options());
  if (grad.numel() == 0) return grad_input;
  auto grad_ = grad.contiguous(), rois_ = rois.contiguous();
  AT_DISPATCH_FLOATING_TYPES_AND_HALF(grad.scalar_type(), "roi_pool_backward_kernel", [&] {
    auto from = grad_.const_data_ptr<scalar_t>();
    auto to = grad_input.mutable_data_ptr<scalar_t>();
    visit_bins<scalar_t>(rois_, spatial_scale, pooled_height, pooled_width, channels, height, width,
                         [&](int64_t o, int64_t i, scalar_t share) { to[i] += from[o] * share; });
  });
  return grad_input;
}

class ROIPoolFunction : public torch::autograd::Function<ROIPoolFunction> {
 public:
  static torch::autograd::variable_list forward(torch::autograd::AutogradContext* ctx,
                                                const torch::autograd::Variable& input,
                                                const torch::autograd::Variable& rois, double spatial_scale,
                                                int64_t pooled_height, int64_t pooled_width) {
    ctx->saved_data["spatial_scale"] = spatial_scale;
    ctx->saved_data["pooled_height"] = pooled_height;
    ctx->saved_data["pooled_width"] = pooled_width;
    ctx->saved_data["input_shape"] = input.sizes();
    ctx->save_for_backward({rois});
    at::AutoDispatchBelowADInplaceOrView g;
    return {roi_pool(input, rois, spatial_scale, pooled_height, pooled_width)};
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* ctx,
                                                 const torch::autograd::variable_list& grad_output) {
    auto saved = ctx->get_saved_variables();
    auto input_shape = ctx->saved_data["input_shape"].toIntList();
    auto grad_in = detail::_roi_pool_backward(
        grad_output[0], saved[0], ctx->saved_data["spatial_scale"].toDouble(), ctx->saved_data["pooled_height"].toInt(),
        ctx->saved_data["pooled_width"].toInt(), input_shape[0], input_shape[1], input_shape[2], input_shape[3]);
    return {grad_in, torch::autograd::Variable(), torch::autograd::Variable(), torch::autograd::Variable(),
            torch::autograd::Variable()};
  }
};

at::Tensor roi_pool_autograd(const at::Tensor& input, const at::Tensor& rois, double spatial_scale,
                             int64_t pooled_height, int64_t pooled_width) {
  return ROIPoolFunction::apply(input, rois, spatial_scale, pooled_height, pooled_width)[0];
}

template <c10::DispatchKey autocast_key, c10::DeviceType device_type>
at::Tensor nms_autocast(const at::Tensor& dets, const at::Tensor& scores, double iou_threshold) {
  c10::impl::ExcludeDispatchKeyGuard no_autocast(autocast_key);
  return nms(at::autocast::cached_cast(at::kFloat, dets, device_type),
             at::autocast::cached_cast(at::kFloat, scores, device_type), iou_threshold);
}

}  // namespace

TORCH_LIBRARY(boxes, m) {
  m.set_python_module("torch");
  m.def(TORCH_SELECTIVE_SCHEMA("boxes::nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"));
  m.def(TORCH_SELECTIVE_SCHEMA(
      "boxes::roi_pool(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width) -> "
      "Tensor"));
  m.def(TORCH_SELECTIVE_SCHEMA(
      "boxes::_roi_pool_backward(Tensor grad, Tensor rois, float spatial_scale, int pooled_height, int pooled_width, "
      "int batch_size, int channels, int height, int width) -> Tensor"));
}

TORCH_LIBRARY_IMPL(boxes, CPU, m) {
  m.impl(TORCH_SELECTIVE_NAME("boxes::nms"), TORCH_FN(nms_kernel));
  m.impl(TORCH_SELECTIVE_NAME("boxes::roi_pool"), TORCH_FN(roi_pool_forward_kernel));
  m.impl(TORCH_SELECTIVE_NAME("boxes::_roi_pool_backward"), TORCH_FN(roi_pool_backward_kernel));
}

TORCH_LIBRARY_IMPL(boxes, Autograd, m) { m.impl(TORCH_SELECTIVE_NAME("boxes::roi_pool"), TORCH_FN(roi_pool_autograd)); }

TORCH_LIBRARY_IMPL(boxes, AutocastCPU, m) {
  m.impl(TORCH_SELECTIVE_NAME("boxes::nms"),
         TORCH_FN((nms_autocast<c10::DispatchKey::AutocastCPU, c10::DeviceType::CPU>)));
}

}  // namespace ops
}  // namespace vision
