#include "library/lapack.h"

#include <dlfcn.h>

#include <atomic>

#include "core/error.h"

namespace pellucid {

std::string (*find_lapack)() = nullptr;

namespace lapack {
namespace {

// Symbols are named like scipy_dgetrf_. For complex types, names have "he" and "un" (Hermitian, unitary) where
// real ones have "sy" and "or" (symmetric, orthogonal).
class Symbols {
 public:
  explicit Symbols(const std::string& path) : path_(path), handle_(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    if (!handle_)
      raise(ErrorKind::Runtime, "LAPACK cannot be loaded: %s.\nReinstall the package scipy-openblas32.", dlerror());
  }

  template <class Function>
  void find(Function*& to, const std::string& name) const {
    to = reinterpret_cast<Function*>(dlsym(handle_, ("scipy_" + name).c_str()));
    if (!to)
      raise(ErrorKind::Runtime, "%s has no routine '%s'.\nReinstall the package scipy-openblas32.", path_.c_str(),
            name.c_str());
  }

  template <class T>
  void find(Routines<T>& to, const std::string& letter) const {
    const auto named = [&](const char* real, const char* complex) {
      return letter + (is_complex<T> ? complex : real) + "_";
    };
    const auto same = [&](const char* name) { return named(name, name); };
    find(to.gemm, same("gemm"));
    find(to.trsm, same("trsm"));
    find(to.potrf, same("potrf"));
    find(to.getrf, same("getrf"));
    find(to.getri, same("getri"));
    find(to.getrs, same("getrs"));
    find(to.geqrf, same("geqrf"));
    find(to.orgqr, named("orgqr", "ungqr"));
    find(to.gelsy, same("gelsy"));
    find(to.sytrf, same("sytrf"));
    find(to.sytrs, same("sytrs"));
    find(to.hetrf, named("sytrf", "hetrf"));
    find(to.hetrs, named("sytrs", "hetrs"));
    find(to.syevd, named("syevd", "heevd"));
    find(to.geev, same("geev"));
    find(to.gesdd, same("gesdd"));
  }

 private:
  std::string path_;
  void* handle_;  // never closed: routines may be running when the process ends
};

const Library* load(const std::string& path) {
  const Symbols symbols(path);
  auto* made = new Library;
  symbols.find(made->float32, "s");
  symbols.find(made->float64, "d");
  symbols.find(made->complex64, "c");
  symbols.find(made->complex128, "z");
  void (*set_num_threads)(int);
  symbols.find(set_num_threads, "openblas_set_num_threads");
  set_num_threads(1);
  return made;
}

}  // namespace

// No lock is held while the bindings look for the package, because they may wait for the interpreter. Two threads
// that arrive at once load the same library, and one of the tables is leaked.
const Library* library() {
  static std::atomic<const Library*> found{nullptr};
  static std::atomic<bool> is_known{false};
  if (!is_known.load(std::memory_order_acquire)) {
    const std::string path = find_lapack ? find_lapack() : std::string();
    if (!path.empty()) found.store(load(path), std::memory_order_release);
    is_known.store(true, std::memory_order_release);
  }
  return found.load(std::memory_order_acquire);
}

}  // namespace lapack
}  // namespace pellucid
