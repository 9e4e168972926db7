// Library steps: the only place where the runtime knows routines by name (sort, LAPACK, FFT, random).
#pragma once

#include <span>
#include <string_view>

#include "plan/executor.h"

namespace pellucid {

// What a routine receives: dense inputs, outputs already allocated with the plan's sizes, options, numbers.
struct LibraryCall {
  Frame& frame;
  const Step& step;
  std::span<TensorImpl* const> inputs, outputs;
  std::span<const Register> numbers;

  const Constant* option(std::string_view name) const;  // null: not given
  std::string_view text(std::string_view name) const;
};

using LibraryRoutine = void (*)(LibraryCall& call);
void register_library_routine(std::string_view name, LibraryRoutine routine);

// Runs every routine without machine code here; installed by the bindings, which have NumPy.
extern LibraryRoutine library_fallback;

void run_library_step(Frame& frame, const Step& step);

}  // namespace pellucid
