// FunctionNode: the node of a custom Function; FunctionObject: the context that forward and backward see.
//
// The node owns the context, and the context has a borrowed pointer back, so that a graph is freed with its last
// output. If Python still holds the context then (`y.grad_fn` of a freed y), the context takes ownership of the node.
#pragma once

#include <vector>

#include "autograd/saved_hooks.h"
#include "python/autograd/autograd.h"

namespace pellucid::python {

struct FunctionObject {
  NodeObject base;               // base.node: borrowed unless owns_node; null before the node exists and after it ends
  PyObject* to_save;             // tuple of tensors and None, or null
  PyObject* dirty;               // tensors that forward wrote, or null
  PyObject* non_differentiable;  // outputs without gradient, or null
  PyObject* needs_input_grad;    // tuple of bool
  PyObject* saved_for_forward;   // the tuple that jvp reads, or null
  char materialize_grads;        // whether undefined gradients arrive as zeros
  char materialize_non_differentiable;  // also those of outputs marked non-differentiable
  bool owns_node;
  bool dying;  // its finalizer is running: it can no longer take ownership
};
inline FunctionObject* as_function(PyObject* object) { return reinterpret_cast<FunctionObject*>(object); }

struct SavedTensor {
  Tensor tensor;  // null: None was saved
  uint32_t version = 0;
  int32_t output = -1;  // if it is an output of this Function, its number; else -1
  PackedSlot packed;    // replaces `tensor` if hooks packed it
};

struct FunctionNode final : Node {
  PyObject* context;                        // owned
  std::vector<Edge> own_edges;              // one per tensor among the arguments
  std::vector<uint8_t> is_tensor;           // per argument
  std::vector<std::vector<int64_t>> sizes;  // per output; `infos` point to them
  std::vector<GradientInfo> own_infos;
  std::vector<uint8_t> is_tensor_output, is_marked_output;  // marked: non-differentiable
  std::vector<Tensor> gradients;
  std::vector<SavedTensor> saved;

  explicit FunctionNode(PyObject* context);
  void apply(std::span<Tensor> grads_in, std::span<Tensor> grads_out, bool create_graph) override;
  void release_saved() override;
  std::string name() const override;
  void free_memory() override;
  bool outlives_last_count() override;

  void add_argument(PyObject* argument);
  void add_output(const TensorImpl* tensor, bool marked);  // null: not a tensor
  void finish();                                           // after the last argument and output
  Tensor unpack(const SavedTensor& slot);

 private:
  bool materializes(size_t output) const;
  void spread(PyObject* result, std::span<Tensor> grads_out) const;
};

}  // namespace pellucid::python
