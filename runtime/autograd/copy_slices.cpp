#include "autograd/copy_slices.h"

#include <vector>

#include "autograd/gradient_ops.h"
#include "autograd/tensor_history.h"
#include "core/error.h"
#include "core/thread_state.h"

namespace pellucid {

Tensor (*copy_of_wrapped)(TensorImpl& tensor, std::span<const int64_t> sizes,
                          std::span<const int64_t> strides) = nullptr;

namespace {

struct Geometry {
  std::vector<int64_t> sizes, strides;
  int64_t offset;
  DType dtype;
  Device device;

  explicit Geometry(const TensorImpl& tensor)
      : sizes(tensor.shape().begin(), tensor.shape().end()), strides(tensor.stride().begin(), tensor.stride().end()),
        offset(tensor.offset), dtype(tensor.dtype), device(tensor.device) {}
  GradientInfo info() const { return {sizes.data(), static_cast<uint8_t>(sizes.size()), dtype, device}; }
};

struct CopySlices final : Node {
  Geometry base, view;
  Ref<Node> writer;
  uint32_t self_edge;
  std::vector<Edge> own_edges;
  GradientInfo own_info;
  Tensor gradient;

  CopySlices(TensorImpl& base_tensor, TensorImpl& view_tensor, Ref<Node> node, uint32_t self)
      : base(base_tensor), view(view_tensor), writer(std::move(node)), self_edge(self), own_edges(writer->num_edges),
        own_info(base.info()) {
    kind = NodeKind::Function;
    sequence = ++thread_state.sequence;
    num_edges = writer->num_edges;
    edges = own_edges.data();
    infos = &own_info;
    task.node = this;
    task.gradients = &gradient;
    const Edge to_base = retained_edge(base_tensor);  // first: nothing may fail once the edges have moved
    // Take over the writer's edges, but redirect the one to the view's old content to the base.
    for (uint32_t i = 0; i < num_edges; ++i) std::swap(edges[i], writer->edges[i]);
    std::swap(edges[self], writer->edges[self]);
    edges[self] = to_base;
  }

  void apply(std::span<Tensor> grads_in, std::span<Tensor> grads_out, bool create_graph) override;
  void release_saved() override {
    released = true;
    if (writer) writer->release_saved();
  }
  std::string name() const override { return "CopySlices"; }
  std::string qualified_name() const override { return "torch::autograd::CopySlices"; }
  void free_memory() override { delete this; }
};

Tensor with_strides_of(TensorImpl& gradient, const Geometry& base) {
  if (gradient.wrapper) [[unlikely]]
    return copy_of_wrapped(gradient, base.sizes, base.strides);
  Tensor result = empty_strided(base.sizes, base.strides, base.dtype, base.device);
  copy_into(*result, gradient);
  return result;
}

void CopySlices::apply(std::span<Tensor> grads_in, std::span<Tensor> grads_out, bool create_graph) {
  if (!grads_in[0]) return;
  Tensor result = with_strides_of(*grads_in[0], base);
  const int64_t offset = view.offset - base.offset;
  Tensor inside = as_strided(*result, view.sizes, view.strides, offset);
  Tensor written = clone(*inside);
  writer->apply({&written, 1}, grads_out, create_graph);
  Tensor& of_view = grads_out[self_edge];
  of_view = of_view ? fit_gradient(std::move(of_view), view.info(), writer.get(), self_edge) : zeros(view.info());
  copy_into(*inside, *of_view);
  of_view = std::move(result);
}

}  // namespace

Ref<Node> make_copy_slices(TensorImpl& base, TensorImpl& view, Ref<Node> writer, uint32_t self_edge) {
  return Ref<Node>::adopt(new CopySlices(base, view, std::move(writer), self_edge));
}

}  // namespace pellucid
