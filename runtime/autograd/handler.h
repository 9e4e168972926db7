// The generic Autograd handler: one function records every op.
//
// It redispatches the op below the Autograd key and, if an input requires gradients, makes a node from the op's
// DerivativePlan. ops/ registers it at Key::Autograd of every op that is not a plain composite, and
// `view_handler` at Key::ViewInPlace.
#pragma once

#include "core/op_record.h"

namespace pellucid {

// The keys that record history: nothing below them is recorded.
constexpr KeySet kHistoryKeys = KeySet(Key::Autograd) | Key::ViewInPlace;

// `context`: null, or a DerivativeFinder* that replaces `find_derivative`.
void autograd_handler(OpCall& call, void* context);

// For ops whose declarations save extra values for backward: if a gradient that reads them is recorded, the
// plan's `forward` runs instead of the op and returns them after the results.
void saving_handler(OpCall& call, void* context);

// A view made before its base required gradients carries ViewInPlace alone. This adds the Autograd key to views
// that need it by now and dispatches again.
void view_handler(OpCall& call, void* context);

// Installs autograd's hooks in core/, and the handlers above as their keys' fallbacks; called once, at start-up.
void register_autograd();

}  // namespace pellucid
