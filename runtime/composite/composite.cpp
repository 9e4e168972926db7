#include "composite/composite.h"

#include "composite/define.h"

namespace pellucid {

void define_composites() {
  composite::define_conversions();
  composite::define_shapes();
  composite::define_factories();
  composite::define_changes();
}

}  // namespace pellucid
