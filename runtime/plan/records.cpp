// The readers of encoded records.
//
// Generated from src/pellucid_compiler/abi/plan.py and abi/records.py by tools/build.py: change it there.
// clang-format off

#include "plan/records.h"

namespace pellucid {
namespace encoded {

Instruction Instruction::read(Decoder& in) {
  return {
      .op = in.code<Opcode>(),
      .a = in.register_number(),
      .b = in.register_number(),
      .c = in.register_number(),
      .value = in.optional<Literal>([&] { return in.literal(); }),
  };
}

Message Message::read(Decoder& in) {
  return {
      .error = in.code<ErrorKind>(),
      .parts = in.list_of<Literal>([&] { return in.literal(); }),
  };
}

PlanValue PlanValue::read(Decoder& in) {
  return {
      .dtype = in.code<DType>(),
      .sizes = in.list_of<uint16_t>([&] { return in.register_number(); }),
  };
}

DimMap DimMap::read(Decoder& in) {
  return {
      .offset = in.register_number(),
      .terms = in.flat_pairs<std::pair<uint8_t, uint16_t>>([&] { return in.integer_as<uint8_t>(); }, [&] { return in.register_number(); }),
  };
}

Operand Operand::read(Decoder& in) {
  return {
      .value = in.integer_as<uint16_t>(),
      .dims = in.list_of<DimMap>([&] { return in.record<DimMap>(); }),
  };
}

KernelUse KernelUse::read(Decoder& in) {
  return {
      .id = in.kernel_id(),
      .params = in.list_of<uint16_t>([&] { return in.register_number(); }),
      .label = in.text(),
      .messages = in.list_of<Message>([&] { return in.record<Message>(); }),
  };
}

LocalValue LocalValue::read(Decoder& in) {
  return {
      .value = in.integer_as<uint16_t>(),
      .slot = in.integer_as<uint16_t>(),
  };
}

NestStep NestStep::read(Decoder& in) {
  return {
      .kernel = in.record<KernelUse>(),
      .extents = in.list_of<uint16_t>([&] { return in.register_number(); }),
      .num_stored = in.integer_as<uint8_t>(),
      .outputs = in.list_of<Operand>([&] { return in.record<Operand>(); }),
      .inputs = in.list_of<Operand>([&] { return in.record<Operand>(); }),
      .combine = in.optional<KernelUse>([&] { return in.record<KernelUse>(); }),
      .accumulator = in.optional<DType>([&] { return in.code<DType>(); }),
      .indexed = in.boolean(),
      .sums = in.list_of<uint8_t>([&] { return in.integer_as<uint8_t>(); }),
  };
}

GeneralStep GeneralStep::read(Decoder& in) {
  return {
      .kernel = in.record<KernelUse>(),
      .extents = in.list_of<uint16_t>([&] { return in.register_number(); }),
      .outputs = in.list_of<uint16_t>([&] { return in.integer_as<uint16_t>(); }),
      .inputs = in.list_of<uint16_t>([&] { return in.integer_as<uint16_t>(); }),
      .parallel = in.boolean(),
      .identity = in.optional<Literal>([&] { return in.literal(); }),
      .channels_innermost = in.boolean(),
      .begins = in.boolean(),
  };
}

GemmStep GemmStep::read(Decoder& in) {
  return {
      .kernel = in.record<KernelUse>(),
      .extents = in.list_of<uint16_t>([&] { return in.register_number(); }),
      .groups = in.list_of<uint8_t>([&] { return in.integer_as<uint8_t>(); }),
      .output = in.record<Operand>(),
      .inputs = in.list_of<Operand>([&] { return in.record<Operand>(); }),
      .padded = in.list_of<uint8_t>([&] { return in.integer_as<uint8_t>(); }),
  };
}

ScanStep ScanStep::read(Decoder& in) {
  return {
      .kernel = in.record<KernelUse>(),
      .extents = in.list_of<uint16_t>([&] { return in.register_number(); }),
      .outputs = in.list_of<Operand>([&] { return in.record<Operand>(); }),
      .inputs = in.list_of<Operand>([&] { return in.record<Operand>(); }),
  };
}

RecurrenceStep RecurrenceStep::read(Decoder& in) {
  return {
      .body = in.bytes(),
      .bound = in.flat_pairs<std::pair<uint16_t, uint16_t>>([&] { return in.register_number(); }, [&] { return in.register_number(); }),
      .length = in.register_number(),
      .reverse = in.boolean(),
      .carries = in.list_of<uint16_t>([&] { return in.integer_as<uint16_t>(); }),
      .sequences = in.list_of<uint16_t>([&] { return in.integer_as<uint16_t>(); }),
      .shifts = in.list_of<int8_t>([&] { return in.integer_as<int8_t>(); }),
      .edges = in.list_of<uint16_t>([&] { return in.integer_as<uint16_t>(); }),
      .constants = in.list_of<uint16_t>([&] { return in.integer_as<uint16_t>(); }),
      .orders = in.list_of<std::vector<uint16_t>>([&] { return in.list_of<uint16_t>([&] { return in.integer_as<uint16_t>(); }); }),
      .outputs = in.list_of<uint16_t>([&] { return in.integer_as<uint16_t>(); }),
      .stacked = in.list_of<bool>([&] { return in.boolean(); }),
      .lanes = in.list_of<int8_t>([&] { return in.integer_as<int8_t>(); }),
  };
}

FillStep FillStep::read(Decoder& in) {
  return {
      .output = in.integer_as<uint16_t>(),
      .value = in.literal(),
  };
}

ViewStep ViewStep::read(Decoder& in) {
  return {
      .output = in.integer_as<uint16_t>(),
      .source = in.record<Operand>(),
  };
}

ReshapeStep ReshapeStep::read(Decoder& in) {
  return {
      .output = in.integer_as<uint16_t>(),
      .source = in.integer_as<uint16_t>(),
  };
}

CopyStep CopyStep::read(Decoder& in) {
  return {
      .output = in.integer_as<uint16_t>(),
      .source = in.integer_as<uint16_t>(),
  };
}

LibraryStep LibraryStep::read(Decoder& in) {
  return {
      .name = in.text(),
      .outputs = in.list_of<uint16_t>([&] { return in.integer_as<uint16_t>(); }),
      .inputs = in.list_of<uint16_t>([&] { return in.integer_as<uint16_t>(); }),
      .options = in.list_of<std::pair<std::string_view, Literal>>([&] { return in.pair<std::pair<std::string_view, Literal>>([&] { return in.text(); }, [&] { return in.literal(); }); }),
      .numbers = in.list_of<std::pair<std::string_view, uint16_t>>([&] { return in.pair<std::pair<std::string_view, uint16_t>>([&] { return in.text(); }, [&] { return in.register_number(); }); }),
  };
}

NonzeroStep NonzeroStep::read(Decoder& in) {
  return {
      .output = in.integer_as<uint16_t>(),
      .source = in.integer_as<uint16_t>(),
      .count = in.register_number(),
  };
}

ComputeStep ComputeStep::read(Decoder& in) {
  return {
      .end = in.integer_as<uint16_t>(),
  };
}

BlockStep BlockStep::read(Decoder& in) {
  return {
      .steps = in.list_of<AnyStep>([&] { return AnyStep::read(in); }),
      .axes = in.list_of<std::vector<uint8_t>>([&] { return in.list_of<uint8_t>([&] { return in.integer_as<uint8_t>(); }); }),
      .extents = in.list_of<uint16_t>([&] { return in.register_number(); }),
      .parallel = in.integer_as<uint8_t>(),
      .sequential = in.integer_as<uint8_t>(),
      .cut_is_sequential = in.boolean(),
      .locals = in.list_of<LocalValue>([&] { return in.record<LocalValue>(); }),
      .triangle = in.integer_as<int8_t>(),
      .kernel = in.optional<KernelUse>([&] { return in.record<KernelUse>(); }),
      .outputs = in.list_of<Operand>([&] { return in.record<Operand>(); }),
      .inputs = in.list_of<Operand>([&] { return in.record<Operand>(); }),
  };
}

AnyStep AnyStep::read(Decoder& in) {
  const size_t count = in.list();
  const auto kind = in.code<StepKind>();
  switch (kind) {
    case StepKind::Map: return {kind, in.fields<NestStep>(count - 1)};
    case StepKind::Reduce: return {kind, in.fields<NestStep>(count - 1)};
    case StepKind::Rows: return {kind, in.fields<NestStep>(count - 1)};
    case StepKind::Nest: return {kind, in.fields<GeneralStep>(count - 1)};
    case StepKind::Gemm: return {kind, in.fields<GemmStep>(count - 1)};
    case StepKind::Scan: return {kind, in.fields<ScanStep>(count - 1)};
    case StepKind::Recurrence: return {kind, in.fields<RecurrenceStep>(count - 1)};
    case StepKind::Fill: return {kind, in.fields<FillStep>(count - 1)};
    case StepKind::View: return {kind, in.fields<ViewStep>(count - 1)};
    case StepKind::Reshape: return {kind, in.fields<ReshapeStep>(count - 1)};
    case StepKind::Copy: return {kind, in.fields<CopyStep>(count - 1)};
    case StepKind::Library: return {kind, in.fields<LibraryStep>(count - 1)};
    case StepKind::Nonzero: return {kind, in.fields<NonzeroStep>(count - 1)};
    case StepKind::Compute: return {kind, in.fields<ComputeStep>(count - 1)};
    case StepKind::Block: return {kind, in.fields<BlockStep>(count - 1)};
  }
  in.refuse_code();
}

IndexedDim IndexedDim::read(Decoder& in) {
  return {
      .index = in.integer_as<uint16_t>(),
      .dim = in.integer_as<uint8_t>(),
      .size_of = in.integer_as<uint16_t>(),
      .size_dim = in.integer_as<int8_t>(),
      .wraps = in.boolean(),
  };
}

Plan Plan::read(Decoder& in) {
  return {
      .name = in.text(),
      .num_inputs = in.integer_as<uint16_t>(),
      .program = in.list_of<Instruction>([&] { return in.record<Instruction>(); }),
      .start = in.integer_as<uint16_t>(),
      .messages = in.list_of<Message>([&] { return in.record<Message>(); }),
      .values = in.list_of<PlanValue>([&] { return in.record<PlanValue>(); }),
      .steps = in.list_of<AnyStep>([&] { return AnyStep::read(in); }),
      .outputs = in.list_of<uint16_t>([&] { return in.integer_as<uint16_t>(); }),
      .releases = in.list_of<std::vector<uint16_t>>([&] { return in.list_of<uint16_t>([&] { return in.integer_as<uint16_t>(); }); }),
      .index_error = in.code<ErrorKind>(),
      .index_message = in.text(),
      .indexed = in.list_of<IndexedDim>([&] { return in.record<IndexedDim>(); }),
  };
}

OpRow OpRow::read(Decoder& in) {
  return {
      .schema = in.text(),
      .kind = in.code<OpKind>(),
      .variant = in.code<Variant>(),
      .functional = in.integer_as<int32_t>(),
      .is_method = in.boolean(),
      .is_function = in.boolean(),
      .module = in.text(),
      .int_to_float = in.boolean(),
      .refuses_bools = in.boolean(),
      .promoted = in.integer_as<uint32_t>(),
      .inverse = in.text(),
      .layout = in.code<ResultLayout>(),
      .autocast = in.code<CastRule>(),
      .casts_out = in.boolean(),
      .out_dtypes = in.list_of<DType>([&] { return in.code<DType>(); }),
      .writes_shared = in.boolean(),
      .saves = in.boolean(),
      .unrecorded = in.integer_as<uint32_t>(),
      .tags = in.text(),
      .keys = in.compressed(),
      .derivatives = in.compressed(),
  };
}

ConversionRow ConversionRow::read(Decoder& in) {
  return {
      .target = in.code<DType>(),
      .source = in.code<DType>(),
      .kernel = in.kernel_id(),
  };
}

Program Program::read(Decoder& in) {
  return {
      .kernel = in.kernel_id(),
      .encoded = in.bytes(),
  };
}

BindingRow BindingRow::read(Decoder& in) {
  return {
      .module = in.text(),
      .original = in.text(),
      .is_method = in.boolean(),
      .is_function = in.boolean(),
  };
}

LateOpRow LateOpRow::read(Decoder& in) {
  return {
      .name = in.text(),
      .bindings = in.list_of<BindingRow>([&] { return in.record<BindingRow>(); }),
      .records = in.bytes(),
  };
}

LateRow LateRow::read(Decoder& in) {
  return {
      .schema = in.text(),
      .variant = in.code<Variant>(),
      .body = in.code<LateBody>(),
      .named = in.text(),
      .autocast = in.code<CastRule>(),
      .module = in.text(),
      .is_method = in.boolean(),
      .is_function = in.boolean(),
      .is_seen = in.boolean(),
      .is_variadic = in.boolean(),
      .gives_view = in.boolean(),
      .takes_parts = in.boolean(),
      .casts_out = in.boolean(),
      .tags = in.text(),
  };
}

SeenRow SeenRow::read(Decoder& in) {
  return {
      .op = in.text(),
      .gradient = in.text(),
      .given = in.text(),
      .reads_results = in.boolean(),
      .composed = in.boolean(),
      .composed_gradients = in.boolean(),
      .numbers = in.boolean(),
  };
}

SourceRow SourceRow::read(Decoder& in) {
  return {
      .origin = in.code<ArgumentOrigin>(),
      .index = in.integer_as<int16_t>(),
      .element = in.integer_as<int16_t>(),
  };
}

IntrinsicRow IntrinsicRow::read(Decoder& in) {
  return {
      .schema = in.text(),
      .kind = in.code<OpKind>(),
      .variant = in.code<Variant>(),
      .is_method = in.boolean(),
      .is_function = in.boolean(),
      .module = in.text(),
      .is_seen = in.boolean(),
      .is_transparent = in.boolean(),
      .instead = in.text(),
      .autocast = in.code<CastRule>(),
      .tags = in.text(),
      .gradient = in.text(),
      .sources = in.list_of<SourceRow>([&] { return in.record<SourceRow>(); }),
  };
}

DocumentationRow DocumentationRow::read(Decoder& in) {
  return {
      .name = in.text(),
      .function = in.integer_as<uint32_t>(),
      .method = in.integer_as<uint32_t>(),
  };
}

FrozenFile FrozenFile::read(Decoder& in) {
  return {
      .ops = in.list_of<OpRow>([&] { return in.record<OpRow>(); }),
      .intrinsics = in.list_of<IntrinsicRow>([&] { return in.record<IntrinsicRow>(); }),
      .conversions = in.list_of<ConversionRow>([&] { return in.record<ConversionRow>(); }),
      .programs = in.compressed(),
      .late = in.bytes(),
      .seen = in.list_of<SeenRow>([&] { return in.record<SeenRow>(); }),
      .documentation = in.list_of<DocumentationRow>([&] { return in.record<DocumentationRow>(); }),
      .texts = in.compressed(),
  };
}

KeyedPlan KeyedPlan::read(Decoder& in) {
  return {
      .key = in.nested(),
      .plan = in.bytes(),
  };
}

PointwiseKey PointwiseKey::read(Decoder& in) {
  return {
      .common = in.code<DType>(),
      .items = in.nested(),
  };
}

KeyedFunction KeyedFunction::read(Decoder& in) {
  return {
      .key = in.record<PointwiseKey>(),
      .function = in.bytes(),
  };
}

KeyedDerivative KeyedDerivative::read(Decoder& in) {
  return {
      .rule = in.code<Rule>(),
      .mask = in.bits(),
      .key = in.nested(),
      .derivative = in.bytes(),
  };
}

FunctionInput FunctionInput::read(Decoder& in) {
  return {
      .argument = in.integer_as<uint8_t>(),
      .dtype = in.code<DType>(),
  };
}

FunctionParameter FunctionParameter::read(Decoder& in) {
  return {
      .argument = in.integer_as<uint8_t>(),
      .dtype = in.code<DType>(),
      .exact = in.boolean(),
      .nonnegative = in.boolean(),
      .range = in.optional<DType>([&] { return in.code<DType>(); }),
      .part = in.code<NumberPart>(),
  };
}

NumberChecks NumberChecks::read(Decoder& in) {
  return {
      .program = in.list_of<Instruction>([&] { return in.record<Instruction>(); }),
      .messages = in.list_of<Message>([&] { return in.record<Message>(); }),
  };
}

Function Function::read(Decoder& in) {
  return {
      .kernel = in.kernel_id(),
      .inputs = in.list_of<FunctionInput>([&] { return in.record<FunctionInput>(); }),
      .outputs = in.list_of<DType>([&] { return in.code<DType>(); }),
      .params = in.list_of<FunctionParameter>([&] { return in.record<FunctionParameter>(); }),
      .draws = in.integer_as<uint8_t>(),
      .checks = in.optional<NumberChecks>([&] { return in.record<NumberChecks>(); }),
      .requirements = in.list_of<Message>([&] { return in.record<Message>(); }),
  };
}

DerivedOp DerivedOp::read(Decoder& in) {
  return {
      .schema = in.text(),
      .kind = in.code<OpKind>(),
      .promoted = in.integer_as<uint32_t>(),
      .origin = in.bytes(),
      .keys = in.bytes(),
  };
}

SizeRow SizeRow::read(Decoder& in) {
  return {
      .argument = in.integer_as<int16_t>(),
      .element = in.integer_as<int16_t>(),
      .dim = in.integer_as<int16_t>(),
  };
}

PassedRow PassedRow::read(Decoder& in) {
  return {
      .gradient = in.integer_as<int16_t>(),
      .input = in.integer_as<int16_t>(),
  };
}

DerivativeRow DerivativeRow::read(Decoder& in) {
  return {
      .op = in.optional<DerivedOp>([&] { return in.record<DerivedOp>(); }),
      .arguments = in.list_of<SourceRow>([&] { return in.record<SourceRow>(); }),
      .sizes = in.list_of<SizeRow>([&] { return in.record<SizeRow>(); }),
      .results = in.list_of<int16_t>([&] { return in.integer_as<int16_t>(); }),
      .broadcasts = in.boolean(),
      .saved_arguments = in.bits(),
      .saved_results = in.integer_as<uint32_t>(),
      .node = in.text(),
      .passed = in.list_of<PassedRow>([&] { return in.record<PassedRow>(); }),
      .forward = in.optional<DerivedOp>([&] { return in.record<DerivedOp>(); }),
  };
}

GuardedDerivative GuardedDerivative::read(Decoder& in) {
  return {
      .guards = in.list_of<Instruction>([&] { return in.record<Instruction>(); }),
      .derivative = in.optional<DerivativeRow>([&] { return in.record<DerivativeRow>(); }),
  };
}

NumberedSlot NumberedSlot::read(Decoder& in) {
  return {
      .dtype = in.code<DType>(),
      .number = in.integer_as<int32_t>(),
  };
}

ConstantSlot ConstantSlot::read(Decoder& in) {
  return {
      .dtype = in.code<DType>(),
      .value = in.literal(),
  };
}

OpSlot OpSlot::read(Decoder& in) {
  return {
      .dtype = in.code<DType>(),
      .kernel = in.kernel_id(),
      .arguments = in.list_of<int32_t>([&] { return in.integer_as<int32_t>(); }),
  };
}

BitcastSlot BitcastSlot::read(Decoder& in) {
  return {
      .dtype = in.code<DType>(),
      .argument = in.integer_as<int32_t>(),
  };
}

GatherSlot GatherSlot::read(Decoder& in) {
  return {
      .dtype = in.code<DType>(),
      .operand = in.integer_as<int32_t>(),
      .mask = in.integer_as<int32_t>(),
      .fill = in.integer_as<int32_t>(),
      .indices = in.list_of<int32_t>([&] { return in.integer_as<int32_t>(); }),
  };
}

CheckSlot CheckSlot::read(Decoder& in) {
  return {
      .dtype = in.code<DType>(),
      .number = in.integer_as<int32_t>(),
      .mask = in.integer_as<int32_t>(),
      .value = in.integer_as<int32_t>(),
      .condition = in.integer_as<int32_t>(),
  };
}

AnySlot AnySlot::read(Decoder& in) {
  const size_t count = in.list();
  const auto kind = in.code<SlotKind>();
  switch (kind) {
    case SlotKind::Input: return {kind, in.fields<NumberedSlot>(count - 1)};
    case SlotKind::Constant: return {kind, in.fields<ConstantSlot>(count - 1)};
    case SlotKind::Parameter: return {kind, in.fields<NumberedSlot>(count - 1)};
    case SlotKind::Row: return {kind, in.fields<NumberedSlot>(count - 1)};
    case SlotKind::Axis: return {kind, in.fields<NumberedSlot>(count - 1)};
    case SlotKind::Op: return {kind, in.fields<OpSlot>(count - 1)};
    case SlotKind::Bitcast: return {kind, in.fields<BitcastSlot>(count - 1)};
    case SlotKind::Gather: return {kind, in.fields<GatherSlot>(count - 1)};
    case SlotKind::Check: return {kind, in.fields<CheckSlot>(count - 1)};
  }
  in.refuse_code();
}

ScalarProgram ScalarProgram::read(Decoder& in) {
  return {
      .slots = in.list_of<AnySlot>([&] { return AnySlot::read(in); }),
      .results = in.list_of<int32_t>([&] { return in.integer_as<int32_t>(); }),
  };
}

ReducePass ReducePass::read(Decoder& in) {
  return {
      .program = in.record<ScalarProgram>(),
      .first = in.kernel_id(),
      .again = in.kernel_id(),
      .accumulator = in.code<DType>(),
  };
}

StoringPass StoringPass::read(Decoder& in) {
  return {
      .program = in.record<ScalarProgram>(),
      .output = in.integer_as<int32_t>(),
  };
}

AnyPass AnyPass::read(Decoder& in) {
  const size_t count = in.list();
  const auto kind = in.code<RowPassKind>();
  switch (kind) {
    case RowPassKind::Reduce: return {kind, in.fields<ReducePass>(count - 1)};
    case RowPassKind::Map: return {kind, in.fields<StoringPass>(count - 1)};
    case RowPassKind::Store: return {kind, in.fields<StoringPass>(count - 1)};
    case RowPassKind::Add: return {kind, in.fields<StoringPass>(count - 1)};
  }
  in.refuse_code();
}

StoreRow StoreRow::read(Decoder& in) {
  return {
      .rank = in.integer_as<int32_t>(),
      .drops = in.boolean(),
  };
}

MapProgram MapProgram::read(Decoder& in) {
  return {
      .program = in.record<ScalarProgram>(),
  };
}

CombiningProgram CombiningProgram::read(Decoder& in) {
  return {
      .program = in.record<ScalarProgram>(),
      .whole = in.kernel_id(),
  };
}

RowsProgram RowsProgram::read(Decoder& in) {
  return {
      .passes = in.list_of<AnyPass>([&] { return AnyPass::read(in); }),
  };
}

NestProgram NestProgram::read(Decoder& in) {
  return {
      .program = in.record<ScalarProgram>(),
      .rank = in.integer_as<int32_t>(),
      .operand_ranks = in.list_of<int32_t>([&] { return in.integer_as<int32_t>(); }),
      .combine = in.code<Combine>(),
      .stores = in.list_of<StoreRow>([&] { return in.record<StoreRow>(); }),
  };
}

AnyProgram AnyProgram::read(Decoder& in) {
  const size_t count = in.list();
  const auto kind = in.code<TileForm>();
  switch (kind) {
    case TileForm::Map: return {kind, in.fields<MapProgram>(count - 1)};
    case TileForm::Reduce: return {kind, in.fields<CombiningProgram>(count - 1)};
    case TileForm::Scan: return {kind, in.fields<CombiningProgram>(count - 1)};
    case TileForm::Rows: return {kind, in.fields<RowsProgram>(count - 1)};
    case TileForm::Nest: return {kind, in.fields<NestProgram>(count - 1)};
  }
  in.refuse_code();
}

TileProgram TileProgram::read(Decoder& in) {
  return {
      .body = AnyProgram::read(in),
      .outputs = in.list_of<DType>([&] { return in.code<DType>(); }),
      .inputs = in.list_of<DType>([&] { return in.code<DType>(); }),
      .params = in.list_of<DType>([&] { return in.code<DType>(); }),
  };
}
}  // namespace encoded
}  // namespace pellucid
