#include "autograd/copy_slices.h"

#include <algorithm>
#include <vector>

#include "autograd/gradient_ops.h"
#include "autograd/tensor_history.h"
#include "core/call_op.h"
#include "core/complex_view.h"
#include "core/error.h"
#include "core/named_ops.h"
#include "core/pending.h"
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
  KeySet pending;

  explicit Geometry(const TensorImpl& tensor)
      : sizes(tensor.shape().begin(), tensor.shape().end()), strides(tensor.stride().begin(), tensor.stride().end()),
        offset(tensor.offset), dtype(tensor.dtype), device(tensor.device), pending(pending_of(tensor)) {}
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
    infos = &own_info;
    task.node = this;
    task.gradients = &gradient;
    const Edge to_base = retained_edge(base_tensor);  // first: nothing may fail once the edges have moved
    // Take over the writer's edges, but redirect the one to the view's old content to the base.
    std::ranges::swap_ranges(own_edges, edges_of(*writer));
    std::swap(own_edges[self], writer->edges[self]);
    own_edges[self] = to_base;
    set_edges(*this, own_edges);
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

Tensor call_op_on(NamedOp op, const Tensor& tensor) { return call_op(op, {Value::of(tensor.get())}); }

// The elements of `gradient`, that of the base, which belong to the view, as a view of the same kind.
Tensor gradient_inside(Tensor gradient, const Geometry& base, const Geometry& view) {
  const bool of_complex = is_complex(base.dtype), is_complex_view = is_complex(view.dtype);
  if (gradient->wrapper && (of_complex != is_complex_view || base.pending != view.pending))
    raise(ErrorKind::NotImplemented,
          "inside a function transform, a write through conj() or through a view of another dtype (real, imag,\n"
          "view_as_real, view_as_complex) has no gradient: make the new tensor from its parts (torch.complex)");
  int64_t from = base.offset;
  if (of_complex && !is_complex_view) {
    gradient = call_op_on(NamedOp::ViewAsReal, gradient);
    from *= 2;
  }
  if (is_complex_view && !of_complex) {
    std::vector<int64_t> sizes(view.sizes), strides;
    for (const int64_t stride : view.strides) strides.push_back(2 * stride);
    sizes.push_back(2);
    strides.push_back(1);
    gradient = as_strided(*gradient, sizes, strides, 2 * view.offset - from);
    gradient = call_op_on(NamedOp::ViewAsComplex, gradient);
  } else {
    gradient = as_strided(*gradient, view.sizes, view.strides, view.offset - from);
  }
  const KeySet differing = KeySet::from_bits(base.pending.bits() ^ view.pending.bits());
  if (differing.has(Key::Conjugate) && is_complex_view) gradient = call_op_on(NamedOp::ConjView, gradient);
  if (differing.has(Key::Negative)) gradient = call_op_on(NamedOp::NegView, gradient);
  return gradient;
}

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
  const Tensor inside = gradient_inside(result, base, view);
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
