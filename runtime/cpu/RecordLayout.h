//===- RecordLayout.h - Copies records between memories of pages -*- C++ -*-===//
#ifndef STRATA_RUNTIME_CPU_RECORDLAYOUT_H
#define STRATA_RUNTIME_CPU_RECORDLAYOUT_H

#include "strata/lib/Support/ElementType.h"
#include "strata/runtime/core/Package.h"

#include <cstddef>
#include <cstring>

namespace strata::rt {

/// Where a cache's records lie in memory of whole pages. Homes, stages, hot sets, staging pools and
/// block buffers all have this layout, so that kernels read each of them: record n is number
/// n % page size of page n / page size.
class RecordLayout {
public:
  explicit RecordLayout(const package::Cache &cache)
      : pageSize_(cache.page_size()), recordBytes_(rt::recordBytes(cache)) {
    if (!cache.planar()) {
      pieces_.push_back({0, recordBytes_});
      return;
    }
    int64_t before = 0;
    for (const package::CacheField *field : *cache.fields()) {
      int64_t bytes = int64_t(field->heads()) * field->width() *
                      int64_t(elementSize(static_cast<strata::ElementType>(field->element_type())));
      pieces_.push_back({before * pageSize_, bytes});
      before += bytes;
    }
  }

  int64_t pageSize() const { return pageSize_; }
  int64_t recordBytes() const { return recordBytes_; }
  int64_t pageBytes() const { return recordBytes_ * pageSize_; }
  /// Pages that hold so many records.
  int64_t pagesFor(int64_t records) const { return (records + pageSize_ - 1) / pageSize_; }

  void copyRecord(const std::byte *source, int64_t from, std::byte *target, int64_t to) const {
    for (const Piece &piece : pieces_)
      std::memcpy(target + offset(piece, to), source + offset(piece, from), size_t(piece.bytes));
  }
  void copyPage(const std::byte *source, int64_t from, std::byte *target, int64_t to) const {
    std::memcpy(target + to * pageBytes(), source + from * pageBytes(), size_t(pageBytes()));
  }
  /// Fills a record with NaN bytes.
  void poisonRecord(std::byte *target, int64_t record) const {
    for (const Piece &piece : pieces_)
      std::memset(target + offset(piece, record), 0xff, size_t(piece.bytes));
  }

private:
  /// What follows itself record by record within a page: all of a record, or a field.
  struct Piece {
    int64_t begin; ///< of the page's first record, in bytes from the page's begin
    int64_t bytes;
  };

  int64_t offset(const Piece &piece, int64_t record) const {
    return record / pageSize_ * pageBytes() + piece.begin + record % pageSize_ * piece.bytes;
  }

  int64_t pageSize_, recordBytes_;
  std::vector<Piece> pieces_;
};

} // namespace strata::rt

#endif // STRATA_RUNTIME_CPU_RECORDLAYOUT_H
