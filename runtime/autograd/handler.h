// The generic Autograd handler: one function records every op.
//
// It calls the op again below the Autograd key and, when an input requires gradients, makes a node
// from the op's DerivativePlan. ops/ registers it at Key::Autograd of every op that is not a plain
// composite, and `view_handler` at Key::ViewInPlace.
#pragma once

#include "core/op_record.h"

namespace pellucid {

// The keys that record history: what runs below them is not recorded.
constexpr KeySet kHistoryKeys = KeySet(Key::Autograd) | Key::ViewInPlace;

// `context`: null, or a DerivativeFinder* to ask in place of `find_derivative`.
void autograd_handler(OpCall& call, void* context);

// Of ops whose declarations keep values for the gradient: where a gradient is recorded that reads them, the
// plan's `forward` runs in place of the op and gives them beside the results.
void saving_handler(OpCall& call, void* context);

// A view made before its base required gradients carries ViewInPlace alone: this puts the Autograd
// key on views that need it by now and dispatches again.
void view_handler(OpCall& call, void* context);

// Installs what core/ asks of autograd, and the handlers above as their keys' fallbacks; once, at start-up.
void register_autograd();

}  // namespace pellucid
