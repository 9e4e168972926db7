// NVIDIA's optional libraries, found at run time and never linked: what their users share.
#pragma once

#include <dlfcn.h>

#include <atomic>
#include <string>

#include "core/error.h"

namespace pellucid::cuda {

// Set by use_deterministic_algorithms: libraries may only do what gives the same bits in every run.
inline std::atomic<bool> must_be_deterministic{false};

// An installed library that does not work on a GPU, for which the program runs as without it.
class UnusableLibrary : public Error {
 public:
  explicit UnusableLibrary(const std::string& message) : Error(ErrorKind::Runtime, message) {}
};

// A library that stays loaded; `what` names it in the Runtime error that is raised if it cannot be.
inline void* open_library(const char* what, const std::string& path) {
  void* const loaded = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!loaded) raise(ErrorKind::Runtime, "%s: %s", what, dlerror());
  return loaded;
}

// Fills a pointer to a function; raises a Runtime error if the library lacks it.
template <class Function>
void load_symbol(void* library, const std::string& path, const char* symbol, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, symbol));
  if (!function) raise(ErrorKind::Runtime, "%s has no %s", path.c_str(), symbol);
}

}  // namespace pellucid::cuda
