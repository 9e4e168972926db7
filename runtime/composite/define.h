// How composites are made and call other ops. Included by the files of this folder only.
#pragma once

#include <algorithm>

#include "core/call_op.h"
#include "core/dispatcher.h"
#include "core/error.h"

namespace pellucid::composite {

inline void give(OpCall& call, Tensor result) { call.rets[0] = Value::of(result.leak()); }
inline void give_itself(OpCall& call, TensorImpl& tensor) { give(call, Tensor::share(&tensor)); }

// kLeaf: __torch_dispatch__ sees the op itself, else the ops that it calls.
enum Exposure : int { kMethod = 1, kFunction = 2, kLeaf = 4 };

// A record whose kernel serves every key; what it calls records gradients, it has none of its own.
inline void define(const char* schema, BoxedKernel kernel, int exposure) {
  OpRecord& op = *define_op(schema);
  op.kind = OpKind::Composite;
  op.is_method = exposure & kMethod;
  op.is_function = exposure & kFunction;
  register_catch_all(op, {kernel, nullptr});
  register_fall_through(op, Key::Autograd);
  register_fall_through(op, Key::ViewInPlace);
  register_fall_through(op, Key::Transforms);
  if (!(exposure & kLeaf)) register_fall_through(op, Key::PythonDispatch);
}

void define_conversions();  // conversion.cpp: contiguous, to, detach
void define_shapes();       // shape.cpp: reshape, flatten, unbind, split, chunk
void define_factories();    // empty.cpp: memory without values
void define_changes();      // in_place.cpp: in-place views, resize_, set_

}  // namespace pellucid::composite
