// The timelines of all threads, for sessions.
#pragma once

#include "timeline/recorder.h"

namespace pellucid {

void register_timeline(ThreadTimeline* timeline);  // a thread's own; sessions free it after the thread has ended

}  // namespace pellucid
