// Limits and layouts that the compiler and the runtime agree on.
//
// Generated from src/pellucid_compiler/abi/limits.py by tools/build.py: change it there.
// clang-format off
#pragma once

#include <string_view>

namespace pellucid {
constexpr int kMaxDims = 64;  // of a tensor
constexpr int kMaxArguments = 32;  // of an op; beyond that, pass lists
constexpr int kMaxReturns = 8;
constexpr int kMaxAxes = 24;  // of one nest
constexpr int kMaxNestOperands = 32;
constexpr int kMaxMapOperands = 24;
constexpr int kMaxStepParams = 32;  // numbers that a kernel takes
constexpr int kMaxPointwiseArguments = 15;  // 128 bits: a byte each, and the common dtype
constexpr int kMaxMapOutputs = 8;
constexpr int kMaxMapParams = 12;
constexpr int kNoRegister = 65535;  // of a plan: encoded as -1
constexpr int kFirstDraw = 128;  // operand FIRST_DRAW + w of a function is random word w
constexpr int kFirstValue = 65536;  // of places in a group; inputs have the numbers below
constexpr int kOne = 65535;  // of a number in a group that equals 1.0
constexpr int kKeyNumber = 253;
constexpr int kKeyNone = 254;
constexpr int kKeyStatic = 255;  // the value follows the key
constexpr int kStatusShift = 48;  // a kernel returns code << STATUS_SHIFT | detail
constexpr int kOutsideBits = 21;  // of the element and of the extent in OUTSIDE_OPERAND's detail
constexpr int kTriangleRows = 64;  // minimum per piece of a triangle's rows
constexpr int kTrianglePieces = 8;  // with this many, a triangle wastes little work
constexpr int kSmallBElements = 40000;  // a B with aligned rows up to this: read in place
constexpr int kWorkspaceBytes = 1572864;  // that a driver provides to a product's kernel
constexpr std::string_view kFrozenMagic = "PLCDFRZ8";  // at the start of frozen.bin, with its version
constexpr std::string_view kPackMagic = "PLCDPACK";  // at the start of a kernel pack
constexpr int kPackVersion = 2;
constexpr int kMostInflated = 1032;  // bytes from a byte: the format of zlib cannot express more
constexpr int kCodeAlignment = 64;  // in bytes, of machine code in memory
constexpr int kKernelIdBytes = 16;
}  // namespace pellucid
