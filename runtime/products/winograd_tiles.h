// Tiles of Winograd's minimal filtering: the windows of an image, grouped into tiles of 2x2 positions.
//
// Shared by a convolution (winograd.cpp) and the gradient of its filters (winograd_gradient.cpp): which axes of a
// product are the positions and the taps of 3x3 windows, and the calls that transform tiles of the operands. The
// kernels are the parts of codegen/schedules/winograd.py.
#pragma once

#include "products/packed_product.h"
#include "products/product_panels.h"

namespace pellucid {

constexpr int64_t kTile = kTileStep;
constexpr int64_t kAllTaps = kWindowTaps * kWindowTaps;
constexpr int64_t kTilePlaces = kTileExtent * kTileExtent;  // elements of a transformed tile, each with a product
constexpr int64_t kTileBytes = 5 << 17;                     // of the tiles of a block that stay in the L2 cache
constexpr int64_t kLeastTiles = 64;                         // per block, if there are as many
constexpr int64_t kWinogradTasks = 16;                      // the minimum for a product, if its tiles allow

// One dim of the image: the positions of windows in it, and the taps of a window, which may run backwards.
struct WindowDim {
  int64_t extent;                     // positions
  int64_t strides[kProductOperands];  // of a position
  int64_t taps[kProductOperands];     // of a tap, in the image's direction
  int64_t size, first;                // of the image, and the index of the first tap at the first position
  bool reversed;
};

// Channels by tiles, one such matrix per tile element. Matrices and their rows start in different lines of the L1
// cache; one vector of padding follows the last tile.
struct TileLayout {
  TileLayout(int64_t channels, int64_t count, const Tiling& tiling);
  size_t bytes() const { return static_cast<size_t>(kTilePlaces * place); }
  int64_t channel, place;  // in bytes
};

// A block: some images, some of their rows of tiles, and some tiles of these; if there are several outer ones,
// all of the inner ones.
struct TileBlock {
  Range images, rows, tiles;
  int64_t count() const { return images.size * rows.size * tiles.size; }
};

class Windows {
 public:
  explicit Windows(const PackedProduct& product);

  // Takes both dims of the image from the axes of the positions, outermost first, and from those of the taps. The
  // remaining positions are images; so are batch axes along which `shared` does not move.
  bool find(AxisList places, AxisList& taps, int shared);
  // Whether the operands are plain float32 in memory, and the rows of A and C are one axis.
  bool has_plain_rows() const;

  int64_t all_tiles() const { return points(images) * tile_rows * tiles; }
  // Whether tiles cover at most `percent` of the positions that exist.
  bool fill_tiles(int64_t percent) const {
    return tile_rows * tiles * kTile * kTile * 100 <= dims[0].extent * dims[1].extent * percent;
  }

  void cut(int64_t tiles_together);
  int64_t blocks() const { return groups_.count * chunks_.count * pieces_.count; }
  TileBlock block(int64_t number) const;
  int64_t most_tiles() const { return groups_.piece * chunks_.piece * pieces_.piece; }

  // Transforms tiles of B, the image; `from` is the first tap at the first position.
  int64_t transform_image(char* to, const TileLayout& layout, char* from, Range channels, int64_t stride,
                          const TileBlock& block) const;
  // Transforms tiles of A, which has the positions of C's gradient.
  int64_t transform_gradient(char* to, const TileLayout& layout, char* from, int64_t channels, int64_t stride,
                             const TileBlock& block) const;

  // The offset in an operand of the tap that belongs to element `tap` of a window, row by row, from the operand's
  // first tap.
  int64_t tap_place(int operand, int64_t tap) const;

  WindowDim dims[2] = {};            // rows of the image, pixels in a row
  AxisList images, items;            // axes along which the other operand does not move, and does
  int64_t tile_rows = 0, tiles = 0;  // of an image: rows of tiles, tiles per row

 private:
  bool find_dim(WindowDim& dim, const Axis& places, AxisList& taps, int& claimed) const;
  int64_t transform(Part part, int operand, char* to, const TileLayout& layout, char* from, const int64_t (&extents)[2],
                    const int64_t (&first)[2], int64_t channels, int64_t stride, const TileBlock& block) const;

  const PackedProduct& product_;
  const Tiling tiling_;
  const int64_t item_;
  Cut groups_{1, 1, 1}, chunks_{1, 1, 1}, pieces_{1, 1, 1};  // of the images, their rows of tiles, the tiles in these
};

}  // namespace pellucid
