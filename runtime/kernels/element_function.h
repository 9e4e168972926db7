// ElementFunction: the compiled Graph of elements of a pointwise op at one specialisation key; and the key.
//
// kernels/pointwise.cpp computes a call's key, looks it up in the op's cache and, on a miss, calls
// `find_element_function`, which ops/ implements (frozen file, else tracing).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "abi/limits.h"
#include "core/error.h"
#include "core/op_record.h"
#include "kernels/kernel_ref.h"

namespace pellucid {

constexpr int kMaxMapInputs = kMaxPointwiseArguments;

// One byte per argument of the (functional) op, and the common dtype from promotion. Arguments that are neither
// tensors nor numbers have the code Static: their values are part of the key as well.
class PointwiseKey {
 public:
  using Bits = unsigned __int128;
  enum Code : uint8_t {
    Number = kKeyNumber,
    None = kKeyNone,
    Static = kKeyStatic
  };  // below these codes: a tensor's compute DType
  static_assert(kNumDTypes <= Number);

  static constexpr Bits bits_of(int argument, uint8_t code) { return Bits{code} << (8 * argument); }
  static constexpr PointwiseKey from_bits(Bits bits) {
    PointwiseKey key;
    key.bits_ = bits;
    return key;
  }
  constexpr void set(int argument, uint8_t code) { bits_ |= bits_of(argument, code); }
  constexpr void set_common(DType dtype) { set(kMaxPointwiseArguments, static_cast<uint8_t>(dtype)); }
  constexpr uint8_t code(int argument) const { return static_cast<uint8_t>(bits_ >> (8 * argument)); }
  constexpr bool is_tensor(int argument) const { return code(argument) < Number; }
  constexpr DType common() const { return static_cast<DType>(code(kMaxPointwiseArguments)); }
  constexpr uint64_t low() const { return static_cast<uint64_t>(bits_); }
  constexpr uint64_t high() const { return static_cast<uint64_t>(bits_ >> 64); }
  constexpr bool operator==(const PointwiseKey&) const = default;

 private:
  Bits bits_ = 0;
};
static_assert(8 * (kMaxPointwiseArguments + 1) <= 8 * sizeof(PointwiseKey::Bits));

struct RegisterProgram;

struct ElementFunction {
  // Operands are tensors of these dtypes; the driver casts those with other dtypes. Arguments that the body does
  // not read are not listed. `argument` kFirstDraw + w is random word w of the element.
  struct Input {
    uint8_t argument;
    DType dtype;
  };
  // A number in a 64-bit slot of dtype Int64 or Float64. A number in place of a tensor is one of these too. An
  // Int64 slot takes a float only without its fraction, or not at all if it is `exact`; only a slot of bools
  // takes an exact bool. A number outside `range`, if there is one, is refused. From a complex number a slot
  // takes one part; a Whole slot refuses it.
  using Part = NumberPart;
  struct Parameter {
    uint8_t argument;
    DType dtype;
    bool exact = false, nonnegative = false, has_range = false;
    DType range = DType::Bool;
    Part part = Part::Whole;
  };

  mutable KernelRef kernel;  // the form `map`
  uint8_t num_inputs = 0, num_outputs = 0, num_params = 0;
  // The number of random words that each element consumes, in the result's memory order, whether or not they are
  // read. A word is 32 random bits as Int32.
  uint8_t num_draws = 0;
  Input inputs[kMaxMapInputs];
  DType outputs[kMaxMapOutputs];
  // For operands that are dense in memory, the strides that the kernel takes: {item, 0} each, outputs first.
  // PointwiseData sets it before the function is published.
  mutable int64_t dense_strides[2 * (kMaxMapOutputs + kMaxMapInputs)] = {};
  Parameter params[kMaxMapParams];
  // The declaration's requirements on numbers, checked before anything else happens; null if none.
  std::shared_ptr<const RegisterProgram> number_checks;
  // Whether it draws no words and has no requirements on numbers: the handler's fast paths need this.
  bool is_plain = true;
  // The body's requirements on its elements: status detail n is requirement n.
  struct Requirement {
    ErrorKind kind;
    std::string message;
  };
  std::vector<Requirement> requirements;
};

// Raises the declaration's error if numbers of the call violate its requirements.
void check_numbers(const OpCall& call, const ElementFunction& function);

// Never null for a pointwise op: raises the declaration's error if it refuses the key. `call.op` is the op as
// called; the key is in terms of the functional op's arguments (the first ones of in-place and out= variants).
// The result lives as long as the op. Thread-safe; may call Python.
const ElementFunction* find_element_function(const OpCall& call, PointwiseKey key);

}  // namespace pellucid
