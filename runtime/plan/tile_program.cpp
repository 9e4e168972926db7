#include "plan/tile_program.h"

#include <utility>
#include <variant>

#include "core/error.h"
#include "kernels/conversion.h"
#include "plan/records.h"

namespace pellucid {

namespace {

void make_constant(const Literal& given, TileSlot& slot) {
  DType from = DType::Int64;
  union {
    int64_t integer;
    double number;
    Complex complex;
  } value{given.integer};
  if (given.tag == Code::Complex) value.complex = given.complex, from = DType::Complex128;
  else if (given.tag == Code::Number) value.number = given.number, from = DType::Float64;
  convert(slot.dtype, slot.constant, from, reinterpret_cast<const char*>(&value), Run{{1, 1}, {0, 0}, {0, 0}});
}

void take(TileSlot& slot, encoded::NumberedSlot& given) { slot.number = given.number; }
void take(TileSlot& slot, encoded::ConstantSlot& given) { make_constant(given.value, slot); }
void take(TileSlot& slot, encoded::OpSlot& given) {
  slot.kernel.id = given.kernel;
  slot.arguments = std::move(given.arguments);
}
void take(TileSlot& slot, encoded::BitcastSlot& given) { slot.arguments = {given.argument}; }
void take(TileSlot& slot, encoded::GatherSlot& given) {
  slot.number = given.operand;
  slot.mask = given.mask;
  slot.fill = given.fill;
  slot.arguments = std::move(given.indices);
}
void take(TileSlot& slot, encoded::CheckSlot& given) {
  slot.number = given.number;
  slot.mask = given.mask;
  slot.arguments = {given.value, given.condition};
}

void make_program(encoded::ScalarProgram&& given, ScalarProgram& program) {
  for (encoded::AnySlot& item : given.slots) {
    const auto limit = static_cast<int32_t>(program.slots.size());  // slots refer to earlier ones
    TileSlot& slot = program.slots.emplace_back();
    slot.kind = item.kind;
    std::visit(
        [&](auto& fields) {
          slot.dtype = fields.dtype;
          take(slot, fields);
        },
        item.fields);
    for (const int32_t argument : slot.arguments)
      if (argument < 0 || argument >= limit) raise(ErrorKind::Value, "a tile program refers to a slot it lacks");
  }
  program.results = std::move(given.results);
}

void take(RowPass& pass, encoded::ReducePass& given) {
  pass.first.id = given.first;
  pass.again.id = given.again;
  pass.accumulator = given.accumulator;
}
void take(RowPass& pass, encoded::StoringPass& given) { pass.output = given.output; }

void take(TileProgram& out, encoded::MapProgram& given) { make_program(std::move(given.program), out.program); }
void take(TileProgram& out, encoded::CombiningProgram& given) {
  make_program(std::move(given.program), out.program);
  out.whole.id = given.whole;
}
void take(TileProgram& out, encoded::RowsProgram& given) {
  for (encoded::AnyPass& item : given.passes) {
    RowPass& pass = out.passes.emplace_back();
    pass.kind = item.kind;
    std::visit(
        [&](auto& fields) {
          make_program(std::move(fields.program), pass.program);
          take(pass, fields);
        },
        item.fields);
  }
}
void take(TileProgram& out, encoded::NestProgram& given) {
  make_program(std::move(given.program), out.program);
  out.rank = given.rank;
  out.operand_ranks = std::move(given.operand_ranks);
  out.combine = given.combine;
  for (const encoded::StoreRow& store : given.stores) out.stores.push_back({store.rank, store.drops});
}

}  // namespace

void decode_tile_program(Decoder in, TileProgram& out) {
  auto given = in.record<encoded::TileProgram>();
  out.form = given.body.kind;
  std::visit([&](auto& fields) { take(out, fields); }, given.body.fields);
  out.outputs = std::move(given.outputs);
  out.inputs = std::move(given.inputs);
  out.params = std::move(given.params);
}

}  // namespace pellucid
