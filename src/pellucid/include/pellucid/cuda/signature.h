// What a kernel's parameters are, as numbers: read by Python (pellucid/devices/cuda_kernels.py) before a launch.
//
// Compiled by g++ for the emulator and by NVRTC for a GPU, so it includes nothing. A number has four bytes: class and
// size of the parameter, class and size of what it points to; 255 is any size from there on. Zero ends the list.
#pragma once

namespace pellucid {
namespace cuda {

enum : unsigned { kOther, kPointer, kSigned, kUnsigned, kFloat, kBool, kHalf, kBFloat16 };

template <class T>
struct Class {
  static constexpr unsigned value = kOther;
};
#define PELLUCID_CLASS(type, code)          \
  template <>                               \
  struct Class<type> {                      \
    static constexpr unsigned value = code; \
  };
PELLUCID_CLASS(bool, kBool)
PELLUCID_CLASS(char, kSigned)
PELLUCID_CLASS(signed char, kSigned)
PELLUCID_CLASS(short, kSigned)
PELLUCID_CLASS(int, kSigned)
PELLUCID_CLASS(long, kSigned)
PELLUCID_CLASS(long long, kSigned)
PELLUCID_CLASS(unsigned char, kUnsigned)
PELLUCID_CLASS(unsigned short, kUnsigned)
PELLUCID_CLASS(unsigned, kUnsigned)
PELLUCID_CLASS(unsigned long, kUnsigned)
PELLUCID_CLASS(unsigned long long, kUnsigned)
PELLUCID_CLASS(float, kFloat)
PELLUCID_CLASS(double, kFloat)
PELLUCID_CLASS(__half, kHalf)
PELLUCID_CLASS(__nv_bfloat16, kBFloat16)
#undef PELLUCID_CLASS

template <class T>
struct Plain {
  using type = T;
};
template <class T>
struct Plain<const T> : Plain<T> {};
template <class T>
struct Plain<volatile T> : Plain<T> {};
template <class T>
struct Plain<const volatile T> : Plain<T> {};

// The size of what a pointer points to; 0 for what has none here.
template <class T, unsigned = Class<T>::value>
struct Size {
  static constexpr unsigned value = sizeof(T);
};
template <class T>
struct Size<T, kOther> {
  static constexpr unsigned value = 0;
};
template <>
struct Size<__half, kHalf> {
  static constexpr unsigned value = 2;
};
template <>
struct Size<__nv_bfloat16, kBFloat16> {
  static constexpr unsigned value = 2;
};

template <class T>
struct Code {
  static constexpr unsigned size = sizeof(T) < 255 ? sizeof(T) : 255;
  static constexpr unsigned value = Class<T>::value | size << 8;
};
template <class T>
struct Code<T*> {
  using Element = typename Plain<T>::type;
  static constexpr unsigned value = kPointer | 8u << 8 | Class<Element>::value << 16 | Size<Element>::value << 24;
};

struct Codes {
  unsigned values[64];
};
template <class Kernel>
struct Signature;
template <class... P>
struct Signature<void (*)(P...)> {
  static_assert(sizeof...(P) < 64, "a kernel has at most 63 parameters");
  static constexpr Codes codes = {{Code<typename Plain<P>::type>::value..., 0}};
};

}  // namespace cuda
}  // namespace pellucid
