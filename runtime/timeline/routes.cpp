#include "timeline/routes.h"

#include "timeline/recorder.h"

namespace pellucid {

void write_route(ProductRoute route) {
  const ThreadTimeline* timeline = thread_timeline();
  if (!timeline || timeline->open == kNoEvent) return;
  TimelineEvent& event = timeline->events[timeline->open];
  if (event.kind == EventKind::Step) event.detail = static_cast<uint16_t>(route);
}

}  // namespace pellucid
