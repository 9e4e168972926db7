// The ops over random_fill.h: uniform_, normal_, random_, bernoulli_, rand, randn, randint, randperm.
#pragma once

namespace pellucid {

// Called once, before the bindings make functions and methods of the records.
void define_random_ops();

}  // namespace pellucid
