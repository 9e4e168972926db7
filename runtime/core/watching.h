// The keys by which __torch_dispatch__ watches: python/dispatch_protocol.cpp.
#pragma once

#include "core/keys.h"

namespace pellucid {

// Above the transforms: ops that PyTorch composes of others run as these, where somebody watches.
constexpr Key kDecompose{48};
static_assert(static_cast<int>(kDecompose) > static_cast<int>(Key::Transforms));
static_assert(static_cast<int>(kDecompose) < static_cast<int>(Key::Autocast));   // whose rules name composites
static_assert(static_cast<int>(Key::Autocast) < kNumKeys);

// What a thread includes while a dispatch mode is in force, and tensors of classes with __torch_dispatch__ carry.
constexpr KeySet kWatched = KeySet(Key::PythonDispatch) | kDecompose;

}  // namespace pellucid
