// Ops that choose at run time between a tensor itself, a view of it and a copy: reshape, contiguous,
// to, flatten, detach, split; and memory without values. None has a kernel of its own.
//
// Each is an op record like any other, so that parsing, methods and tracing know it.
#pragma once

namespace pellucid {

// Defines them; once, after the op table was loaded.
void define_composites();

}  // namespace pellucid
