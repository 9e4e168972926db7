// The default of an argument, as a value of the argument's type. Internal to the parser (schema.cpp).
#pragma once

#include "core/schema.h"
#include "core/schema_reader.h"

namespace pellucid {

// `owned` receives the storage of lists and strings.
Value read_default(SchemaReader& reader, const Argument& argument, std::vector<std::shared_ptr<const void>>& owned);

}  // namespace pellucid
