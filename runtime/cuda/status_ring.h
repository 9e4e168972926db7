// StatusRing: the status words of a GPU's kernels that can fail (kernels/kernel_ref.h).
//
// A launch takes a word, into which the kernel writes its first failure, and publishes it once it is queued. When the
// program has waited for the stream, the words of its launches are copied and read; a failure raises the CPU's error
// there, and the device stays usable. Words of captured launches belong to the graph and are read after its replays.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/storage.h"
#include "cuda/driver.h"

namespace pellucid::cuda {

class StatusRing {
 public:
  // A launch's word; free again with this object unless it was published.
  class Word {
   public:
    explicit Word(StatusRing& ring) : ring_(ring), number_(ring.take()) {}
    ~Word();
    Word(const Word&) = delete;
    Word& operator=(const Word&) = delete;
    uint64_t address() const;
    // After the launch. `capture`: the stream on which the capture began that has recorded it.
    void publish(int64_t stream, const char* op, std::optional<int64_t> capture);

   private:
    StatusRing& ring_;
    size_t number_;
    bool is_published_ = false;
  };

  // The words of a graph, until neither the graph nor a replay whose words were not read needs them.
  class GraphWords;
  using Graph = std::shared_ptr<GraphWords>;

  StatusRing(const Driver& driver, Device device);  // with the GPU's context current, as for all others

  uint64_t count() const;  // of launches until now
  // Reads the words of the stream's launches up to a number, which have run; of all streams' without one.
  void raise_failures(std::optional<int64_t> stream, uint64_t launches);

  void begin_capture(int64_t stream);
  Graph end_capture(int64_t stream);
  void repeat(const Graph& graph, int64_t stream);  // after its launch

 private:
  struct Launch {
    size_t word;
    std::string op;
  };
  // A launch, or replays of a graph on a stream.
  struct Pending {
    uint64_t first, last;  // numbers on this GPU
    int64_t stream;
    Launch launch;
    Graph graph;  // null: `launch`
  };

  size_t take();  // waits for the GPU when all words are in use
  std::vector<Pending> take_due(std::optional<int64_t> stream, uint64_t launches);

  const Driver& driver_;
  const Device device_;
  uint64_t address_ = 0;
  Handle stream_ = nullptr;  // of its own: copies do not wait for later work
  std::vector<size_t> free_;
  std::vector<Pending> pending_;
  std::map<int64_t, Graph> captured_;  // by the streams on which captures began
  uint64_t count_ = 0;
};

}  // namespace pellucid::cuda
