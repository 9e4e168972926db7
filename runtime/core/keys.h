// Dispatch keys: which handler of an op runs. A higher bit runs earlier.
//
// A tensor carries its backend's key and the functionality keys it needs. The dispatcher ORs the arguments' keys
// with the thread's include set, removes the exclude set, and calls the handler of the highest key for which the
// op has a kernel.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace pellucid {

enum class Key : uint8_t {
  // backends (16 bits)
  CPU = 0,
  CUDA = 1,
  Meta = 2,
  PrivateUse1 = 3,
  PrivateUse2 = 4,
  PrivateUse3 = 5,
  // functionality, innermost first
  PythonDispatch = 22,  // __torch_dispatch__ of subclasses and modes
  Lazy = 24,            // records ops instead of running them, in regions of compiled callables: record/
  Conjugate = 25,       // the conjugates of the elements in memory: core/pending.h
  Negative = 26,        // their negatives
  ViewInPlace = 28,     // rebases history when a view is written in place
  Autograd = 32,
  // kinds of tensors stored as other tensors (core/kind.h), whose ops are ops on the components; above Autograd,
  // because the components are what is differentiated
  Quantized = 34,
  Sparse = 35,
  Nested = 36,
  Transforms = 44,   // function transforms (vmap, grad, jvp levels)
  Decompose = 48,    // while a mode or observer is active, ops that PyTorch composes of others run as these
  Autocast = 50,     // casts operands before an op is decomposed: its rules name composites
  PreDispatch = 52,  // asks modes that see calls as the program makes them, before any key takes them apart
};
constexpr int kNumKeys = 56;

class KeySet {
 public:
  constexpr KeySet() = default;
  constexpr KeySet(Key key) : bits_(1ull << static_cast<int>(key)) {}
  static constexpr KeySet from_bits(uint64_t bits) {
    KeySet set;
    set.bits_ = bits;
    return set;
  }
  constexpr uint64_t bits() const { return bits_; }
  constexpr bool has(Key key) const { return bits_ >> static_cast<int>(key) & 1; }
  constexpr bool empty() const { return bits_ == 0; }
  constexpr Key highest() const { return static_cast<Key>(63 - std::countl_zero(bits_ | 1)); }
  constexpr KeySet operator|(KeySet other) const { return from_bits(bits_ | other.bits_); }
  constexpr KeySet operator&(KeySet other) const { return from_bits(bits_ & other.bits_); }
  constexpr KeySet operator-(KeySet other) const { return from_bits(bits_ & ~other.bits_); }
  constexpr bool operator==(const KeySet&) const = default;

 private:
  uint64_t bits_ = 0;
};

constexpr KeySet kBackends = KeySet::from_bits(0xFFFF);
constexpr KeySet kKinds = KeySet(Key::Quantized) | Key::Sparse | Key::Nested;
// Included by a thread while a dispatch mode is active, and carried by tensors of classes with
// __torch_dispatch__: python/dispatch_protocol.cpp.
constexpr KeySet kWatched = KeySet(Key::PythonDispatch) | Key::Decompose;

// The keys of __torch_dispatch__, which a scope that no mode and no class may see excludes.
constexpr KeySet kSeen = kWatched | Key::PreDispatch;

std::string_view name(Key key);

// A key under the name that programs register kernels with: PyTorch's, or the runtime's own where PyTorch has none. A
// kernel for "AutogradCPU" serves Key::Autograd for CPU tensors; one for "XLA" is stored and never runs, because no
// tensor carries that key; "CompositeImplicitAutograd" and the like mean every key without a kernel of its own.
struct NamedKey {
  std::string name;
  int code;                    // PyTorch's number of the key; -1 for the runtime's own
  std::optional<Key> key;      // empty: never runs, or composite
  std::optional<Key> backend;  // empty: any backend
  bool composite = false;
};
std::span<const NamedKey> named_keys();
const NamedKey* find_key(std::string_view name);  // null for an unknown name
// "AutogradCPU": a key combined with the backend of a call, as PyTorch prints it.
std::string key_name(Key key, KeySet backends);

}  // namespace pellucid
