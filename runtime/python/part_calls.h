// Repeated calls of tensors that consist of parts (DTensor, nested and sparse tensors), without Python.
//
// A part is a tensor on which an op runs in place of the whole tensor. When the Python code for the whole tensor
// reports that a call ran on the parts, unchanged or moved (`_repeat_on_parts`), later calls with the same facts of the
// parts run in the same way without calling it. Two sorts of tensors have parts, each with a `PartHolder`: objects of a
// class with two slots, the part and its spec, which describes the whole tensor (DTensor: dispatch_protocol.cpp), and
// tensors of a kind, whose part is their last component (kinds.cpp). Used under the interpreter lock. Read next:
// core/call_facts.h.
#pragma once

#include <memory>
#include <vector>

#include "core/call_facts.h"
#include "core/call_op.h"
#include "core/inline_vector.h"
#include "python/tensor_object.h"

namespace pellucid::python {

// The facts of a result besides its part.
struct WholeFacts {
  Object spec;
  std::vector<int64_t> sizes, strides;
  int like = -1;  // the argument whose structure it has
};

// A sort of tensors with parts.
class PartHolder {
 public:
  // False if calls with this tensor are not cached. `part` is unchanged for a tensor that is its own part. `spec` must
  // be the same object in a later call, and `word` must be equal.
  virtual bool open(TensorImpl& tensor, TensorImpl*& part, PyObject*& spec, uint64_t& word) const = 0;
  // Whether the call as a whole can be repeated.
  virtual bool fits(const OpCall&) const { return true; }
  virtual bool describe(const OpCall& call, const TensorImpl& made, WholeFacts& facts) const = 0;
  virtual Tensor whole(const OpCall& call, const WholeFacts& facts, Tensor part) const = 0;
  // Whether the op on the parts is recorded for gradients where this call is below autograd.
  virtual bool records_again() const { return false; }

 protected:
  ~PartHolder() = default;
};
// Objects of the class that `_set_part_class` was called with.
const PartHolder& object_parts();

// A call with the parts in place of the whole tensors.
class PartCall {
 public:
  PartCall(const PartHolder& holder, const OpCall& call);
  ~PartCall();
  PartCall(const PartCall&) = delete;
  PartCall& operator=(const PartCall&) = delete;

  // False, with nothing done, if no such call is cached.
  bool run(OpCall& call);
  // `call` has run, by what `_repeat_on_parts` was called in: its results say what those of the next call are.
  // `request`: the arguments of `_repeat_on_parts`.
  void remember(const OpCall& call, PyObject* request) const;

 private:
  struct Known;
  struct Set;
  static Set& set_of(uint64_t hash);
  std::shared_ptr<const Known> find() const;

  bool add(TensorImpl& tensor, TensorImpl*& part);
  void add(uint64_t word);
  void move_parts(const Known& known, int num_args);

  const PartHolder& holder_;
  InlineVector<TensorImpl*, 8> held_;     // owned: programs may replace an object's part meanwhile
  InlineVector<TensorImpl*, 16> listed_;  // the parts of tensors in lists
  InlineVector<uint64_t, 128> words_;     // the key of the call
  InlineVector<PyObject*, 8> specs_;      // borrowed: objects whose addresses are in the words
  uint64_t hash_ = 0;
  int64_t elements_ = 0;
  bool is_complete_ = false;
  Values<kMaxArguments> values_;
};

// While it exists, `_repeat_on_parts` in this thread refers to the call that it was made for.
class RepeatRequest {
 public:
  RepeatRequest();
  ~RepeatRequest();
  RepeatRequest(const RepeatRequest&) = delete;
  RepeatRequest& operator=(const RepeatRequest&) = delete;

  // The (arguments, keywords) that it was called with, borrowed; null: it was not called.
  PyObject* given() const;

 private:
  PyObject* const outer_;
};

// Whether an object of the class is among the arguments.
bool has_parts(const OpCall& call);

void add_part_calls(PyObject* module);

}  // namespace pellucid::python
