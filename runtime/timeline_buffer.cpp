#include "runtime/timeline_buffer.h"

#include <algorithm>

namespace flashqla {

namespace {

using Record = TimelineRecord;

std::size_t recordsOf(const ManifestTimeline &layout) {
  return ManifestTimeline::head + layout.roles.size() * static_cast<std::size_t>(layout.records);
}

} // namespace

Expected<void> TimelineBuffer::allocate(const DeviceState &device, const ManifestTimeline &layout) {
  auto done =
      device.check(device.api.memAlloc(&buffer, recordsOf(layout) * sizeof(Record)), "cuMemAlloc");
  return done ? reset(device, layout, 0) : done;
}

void TimelineBuffer::release(const DeviceState &device) {
  if (buffer)
    device.api.memFree(buffer);
}

Expected<void> TimelineBuffer::reset(const DeviceState &device, const ManifestTimeline &layout,
                                     std::int64_t block) const {
  const auto number = static_cast<std::uint32_t>(block);
  const ContextScope scope(device);
  auto done = device.check(device.api.ctxSynchronize(), "cuCtxSynchronize");
  if (done)
    done = device.check(device.api.memsetD8(buffer, 0, recordsOf(layout) * sizeof(Record)),
                        "cuMemsetD8");
  if (done)
    done = device.check(device.api.memcpyHtoD(buffer, &number, sizeof number), "cuMemcpyHtoD");
  return done;
}

Expected<std::vector<std::vector<TimelineRecord>>>
TimelineBuffer::read(const DeviceState &device, const ManifestTimeline &layout) const {
  std::vector<Record> all(recordsOf(layout));
  const ContextScope scope(device);
  auto done = device.check(device.api.ctxSynchronize(), "cuCtxSynchronize");
  if (done)
    done = device.check(device.api.memcpyDtoH(all.data(), buffer, all.size() * sizeof(Record)),
                        "cuMemcpyDtoH");
  if (!done)
    return std::move(done).error();
  std::vector<std::vector<Record>> recorded;
  auto at = all.begin() + ManifestTimeline::head;
  for (std::size_t role = 0; role < layout.roles.size(); ++role) {
    const auto end = at + layout.records;
    recorded.emplace_back(
        at, std::find_if(at, end, [](const Record &record) { return record.code == 0; }));
    at = end;
  }
  return recorded;
}

} // namespace flashqla
