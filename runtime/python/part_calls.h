// Repeated calls of tensors that are held in parts (DTensor): what __torch_dispatch__ did with the first of them.
//
// Objects of the class have two slots: the part, a tensor, and its spec, an object that says of what it is a part.
// When the class's __torch_dispatch__ says that a call ran on the parts as they are (`_repeat_on_parts`), later calls
// with the same specs, compared by address, and the same facts of the parts run in the same way without asking it.
// Called by dispatch_protocol.cpp, under the interpreter lock. Read next: core/call_facts.h.
#pragma once

#include <memory>

#include "core/call_facts.h"
#include "core/call_op.h"
#include "core/inline_vector.h"
#include "python/tensor_object.h"

namespace pellucid::python {

// A call with the parts in place of the objects.
class PartCall {
 public:
  explicit PartCall(const OpCall& call);
  ~PartCall();
  PartCall(const PartCall&) = delete;
  PartCall& operator=(const PartCall&) = delete;

  // False: such a call has not been remembered, and nothing was done.
  bool run(OpCall& call);
  // `call` has run, by what `_repeat_on_parts` was called in: its results say what those of the next call are.
  void remember(const OpCall& call) const;

 private:
  struct Known;
  struct Set;
  static Set& set_of(uint64_t hash);
  std::shared_ptr<const Known> find() const;

  bool add(TensorImpl& tensor, TensorImpl*& part);
  void add(uint64_t word);

  InlineVector<TensorImpl*, 8> held_;     // owned: programs may give an object another part meanwhile
  InlineVector<TensorImpl*, 16> listed_;  // the parts of lists
  InlineVector<uint64_t, 128> words_;     // what selects the call
  InlineVector<PyObject*, 8> specs_;      // borrowed: objects that the words name
  uint64_t hash_ = 0;
  int64_t elements_ = 0;
  bool is_complete_ = false;
  Values<kMaxArguments> values_;
};

// While it exists, calls of `_repeat_on_parts` in this thread are about the call that it was made for.
class RepeatRequest {
 public:
  RepeatRequest();
  ~RepeatRequest();
  RepeatRequest(const RepeatRequest&) = delete;
  RepeatRequest& operator=(const RepeatRequest&) = delete;

  bool was_made() const;

 private:
  const bool outer_;
};

// Whether an object of the class is among the arguments.
bool has_parts(const OpCall& call);

void add_part_calls(PyObject* module);

}  // namespace pellucid::python
