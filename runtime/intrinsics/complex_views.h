// view_as_real and view_as_complex: the ops whose results name their operand's memory under another dtype.
//
// Each one's gradient is the other's copy (`view_as_complex_copy`, `view_as_real_copy`), which are
// declared ops; under function transforms, where tensors have no memory of their own, the copies stand
// for the views themselves.
#pragma once

namespace pellucid {

// Defines the records; once, at start-up.
void define_complex_views();

}  // namespace pellucid
