#include "plan/tile_program.h"

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "kernels/conversion.h"

namespace pellucid {

namespace {

DType dtype(Decoder& in) {
  DType out;
  if (!parse_dtype(in.text(), out)) raise(ErrorKind::Value, "a tile program names an unknown dtype");
  return out;
}

std::vector<DType> dtypes(Decoder& in) {
  std::vector<DType> out(in.list());
  for (DType& item : out) item = dtype(in);
  return out;
}

std::vector<int32_t> integers(Decoder& in) {
  std::vector<int32_t> out(in.list());
  for (int32_t& item : out) item = static_cast<int32_t>(in.integer());
  return out;
}

void kernel_id(Decoder& in, KernelRef& kernel) {
  const auto bytes = in.bytes();
  if (bytes.size() != kernel.id.size())
    raise(ErrorKind::Value, "a tile program names a kernel by %zu bytes", bytes.size());
  std::ranges::copy(bytes, kernel.id.begin());
}

void constant(Decoder& in, TileSlot& slot) {
  DType from = DType::Int64;
  union {
    int64_t integer;
    double number;
    Complex complex;
  } value{0};
  switch (in.peek()) {
    case Code::True:
    case Code::False: value.integer = in.boolean(); break;
    case Code::Integer: value.integer = in.integer(); break;
    case Code::Complex:
      value.complex = in.complex();
      from = DType::Complex128;
      break;
    default: value.number = in.number(); from = DType::Float64;
  }
  convert(slot.dtype, slot.constant, from, reinterpret_cast<const char*>(&value), Run{{1, 1}, {0, 0}, {0, 0}});
}

constexpr std::pair<std::string_view, TileSlot::Kind> kSlotKinds[] = {
    {"input", TileSlot::Kind::Input},     {"const", TileSlot::Kind::Constant}, {"param", TileSlot::Kind::Parameter},
    {"row", TileSlot::Kind::Row},         {"axis", TileSlot::Kind::Axis},      {"op", TileSlot::Kind::Op},
    {"bitcast", TileSlot::Kind::Bitcast}, {"gather", TileSlot::Kind::Gather},
};

constexpr std::pair<std::string_view, Combine> kCombines[] = {
    {"assign", Combine::Assign}, {"sum", Combine::Sum},       {"prod", Combine::Prod},
    {"max", Combine::Max},       {"min", Combine::Min},       {"and", Combine::And},
    {"or", Combine::Or},         {"argmax", Combine::ArgMax}, {"argmin", Combine::ArgMin},
};

template <class Value, size_t count>
Value lookup(const std::pair<std::string_view, Value> (&table)[count], std::string_view name) {
  for (const auto& [known, value] : table)
    if (known == name) return value;
  raise(ErrorKind::Value, "a tile program says '%.*s', which this runtime does not know.\nRebuild pellucid.",
        static_cast<int>(name.size()), name.data());
}

void decode_slot(Decoder& in, TileSlot& slot) {
  in.list();
  slot.kind = lookup(kSlotKinds, in.text());
  slot.dtype = dtype(in);
  switch (slot.kind) {
    case TileSlot::Kind::Constant: constant(in, slot); break;
    case TileSlot::Kind::Op:
      kernel_id(in, slot.kernel);
      slot.arguments = integers(in);
      break;
    case TileSlot::Kind::Bitcast: slot.arguments = {static_cast<int32_t>(in.integer())}; break;
    case TileSlot::Kind::Gather:
      slot.number = static_cast<int32_t>(in.integer());
      slot.mask = static_cast<int32_t>(in.integer());
      slot.fill = static_cast<int32_t>(in.integer());
      slot.arguments = integers(in);
      break;
    default: slot.number = static_cast<int32_t>(in.integer());
  }
}

void decode_scalar_program(Decoder& in, ScalarProgram& program) {
  in.expect_list(2);
  for (size_t count = in.list(); count--;) {
    decode_slot(in, program.slots.emplace_back());
    const auto limit = static_cast<int32_t>(program.slots.size()) - 1;  // slots refer to earlier ones
    for (int32_t argument : program.slots.back().arguments)
      if (argument < 0 || argument >= limit) raise(ErrorKind::Value, "a tile program refers to a slot it lacks");
  }
  program.results = integers(in);
}

void decode_pass(Decoder& in, RowPass& pass) {
  in.list();
  const std::string_view kind = in.text();
  decode_scalar_program(in, pass.program);
  if (kind == "reduce") {
    pass.kind = RowPass::Kind::Reduce;
    kernel_id(in, pass.first);
    kernel_id(in, pass.again);
    pass.accumulator = dtype(in);
  } else {
    pass.kind = kind == "map" ? RowPass::Kind::Map : kind == "add" ? RowPass::Kind::Add : RowPass::Kind::Store;
    pass.output = static_cast<int32_t>(in.integer());
  }
}

constexpr std::pair<std::string_view, TileProgram::Form> kForms[] = {
    {"map", TileProgram::Form::Map},   {"reduce", TileProgram::Form::Reduce}, {"scan", TileProgram::Form::Scan},
    {"rows", TileProgram::Form::Rows}, {"nest", TileProgram::Form::Nest},
};

void decode_nest(Decoder& in, TileProgram& out) {
  out.rank = static_cast<int32_t>(in.integer());
  out.operand_ranks = integers(in);
  out.combine = lookup(kCombines, in.text());
  for (size_t count = in.list(); count--;) {
    in.expect_list(2);
    NestStore& store = out.stores.emplace_back();
    store.rank = static_cast<int32_t>(in.integer());
    store.drop = in.boolean();
  }
}

}  // namespace

void decode_tile_program(Decoder& in, TileProgram& out) {
  in.list();
  out.form = lookup(kForms, in.text());
  if (out.form == TileProgram::Form::Rows) {
    for (size_t count = in.list(); count--;) decode_pass(in, out.passes.emplace_back());
  } else {
    decode_scalar_program(in, out.program);
    if (out.form == TileProgram::Form::Nest) decode_nest(in, out);
    else if (out.form != TileProgram::Form::Map) kernel_id(in, out.whole);
  }
  out.outputs = dtypes(in);
  out.inputs = dtypes(in);
  out.params = dtypes(in);
}

}  // namespace pellucid
