#include "core/recording.h"

namespace pellucid {

RecordingHooks recording_hooks;

}  // namespace pellucid
