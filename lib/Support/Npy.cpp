//===- Npy.cpp - NumPy's array files --------------------------------------===//
#include "strata/lib/Support/Npy.h"

#include "strata/lib/Support/File.h"
#include "strata/lib/Support/Text.h"

#include <cctype>
#include <cstring>

namespace strata {

static constexpr std::string_view magic = "\x93NUMPY";

/// The header's fields, a Python dictionary: {'descr': '<f4', 'fortran_order': False, 'shape': (3,
/// 4), }
namespace {
struct Header {
  std::string descr;
  bool fortranOrder = false;
  std::vector<int64_t> shape;
};

/// Reads the dictionary by its grammar, not by searching it for words.
class HeaderParser {
public:
  explicit HeaderParser(std::string_view text) : text_(text) {}

  bool parse(Header &header) {
    bool seen[3] = {};
    if (!take('{'))
      return false;
    while (!take('}')) {
      std::string key;
      if (!string(key) || !take(':'))
        return false;
      int field = key == "descr" ? 0 : key == "fortran_order" ? 1 : key == "shape" ? 2 : -1;
      if (field < 0 || seen[field])
        return false;
      seen[field] = true;
      bool good = field == 0   ? string(header.descr)
                  : field == 1 ? boolean(header.fortranOrder)
                               : tuple(header.shape);
      if (!good)
        return false;
      if (!take(',') && peek() != '}')
        return false;
    }
    return peek() == '\0' && seen[0] && seen[1] && seen[2];
  }

private:
  /// The next character that is no white space; 0 at the end.
  char peek() {
    while (!text_.empty() && std::isspace(static_cast<unsigned char>(text_.front())))
      text_.remove_prefix(1);
    return text_.empty() ? '\0' : text_.front();
  }
  bool take(char c) {
    if (peek() != c)
      return false;
    text_.remove_prefix(1);
    return true;
  }
  bool string(std::string &value) {
    char quote = peek();
    if (quote != '\'' && quote != '"')
      return false;
    size_t end = text_.find(quote, 1);
    if (end == std::string_view::npos)
      return false;
    value = text_.substr(1, end - 1);
    text_.remove_prefix(end + 1);
    return true;
  }
  bool boolean(bool &value) {
    peek();
    for (bool candidate : {false, true}) {
      std::string_view word = candidate ? "True" : "False";
      if (text_.substr(0, word.size()) == word) {
        text_.remove_prefix(word.size());
        value = candidate;
        return true;
      }
    }
    return false;
  }
  bool tuple(std::vector<int64_t> &values) {
    if (!take('('))
      return false;
    while (!take(')')) {
      int64_t value = 0;
      if (!std::isdigit(static_cast<unsigned char>(peek())))
        return false;
      for (; !text_.empty() && std::isdigit(static_cast<unsigned char>(text_.front()));
           text_.remove_prefix(1))
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, text_.front() - '0', &value))
          return false;
      values.push_back(value);
      if (!take(',') && peek() != ')')
        return false;
    }
    return true;
  }

  std::string_view text_;
};
} // namespace

template <typename T>
static constexpr std::string_view descr = std::is_same_v<T, float> ? "<f4" : "<i4";

/// Splits the file into header and data. Errors don't name the path.
static Status split(std::string_view file, Header &header, std::string_view &data) {
  auto corrupt = [](std::string message) {
    return Status(StatusCode::Corrupt, std::move(message));
  };
  if (file.size() < 10 || file.substr(0, magic.size()) != magic)
    return corrupt("not an .npy file");
  int version = static_cast<unsigned char>(file[6]);
  if (version < 1 || version > 3 || file[7] != 0)
    return corrupt("expected .npy version 1.0, 2.0 or 3.0 but got " + std::to_string(version) +
                   "." + std::to_string(static_cast<unsigned char>(file[7])));
  size_t lengthBytes = version == 1 ? 2 : 4, length = 0;
  if (file.size() < 8 + lengthBytes)
    return corrupt("header is cut off");
  for (size_t i = lengthBytes; i-- > 0;)
    length = length << 8 | static_cast<unsigned char>(file[8 + i]);
  if (length > file.size() - 8 - lengthBytes)
    return corrupt("header is longer than the file");
  if (!HeaderParser(file.substr(8 + lengthBytes, length)).parse(header))
    return corrupt("header is no .npy header");
  data = file.substr(8 + lengthBytes + length);
  return Status::success();
}

template <typename T> static Expected<NpyArray<T>> read(const std::string &path) {
  Expected<MappedFile> file = MappedFile::open(path);
  if (!file.ok())
    return file.status();
  Header header;
  std::string_view data;
  if (Status status = split(file->text(), header, data); !status.ok())
    return Status(status.code(), path + ": " + status.message());
  if (header.descr != descr<T>)
    return Status(StatusCode::InvalidArgument, path + ": expected element type " +
                                                   std::string(descr<T>) + " but got " +
                                                   printable(header.descr));
  if (header.fortranOrder)
    return Status(StatusCode::Unsupported, path + ": expected C order but got Fortran order");
  size_t count = 1;
  bool overflow = false;
  for (int64_t extent : header.shape)
    overflow |= __builtin_mul_overflow(count, size_t(extent), &count);
  if (overflow || count > data.size() / sizeof(T) || count * sizeof(T) != data.size())
    return Status(StatusCode::Corrupt, path + ": shape " + shapeText(header.shape) +
                                           " doesn't match " + std::to_string(data.size()) +
                                           " bytes of data");
  NpyArray<T> array{std::move(header.shape), std::vector<T>(count)};
  if (count != 0)
    std::memcpy(array.values.data(), data.data(), data.size());
  return array;
}

template <typename T>
static Status write(const std::string &path, const std::vector<int64_t> &shape, const T *values) {
  std::string text =
      "{'descr': '" + std::string(descr<T>) + "', 'fortran_order': False, 'shape': (";
  size_t count = 1;
  for (size_t i = 0; i < shape.size(); ++i) {
    text += (i ? ", " : "") + std::to_string(shape[i]);
    count *= size_t(shape[i]);
  }
  text += shape.size() == 1 ? ",), }" : "), }";
  // magic, version and length are 10 bytes; the header ends with a new line, and the data begins at
  // a multiple of 64
  text.append(63 - (10 + text.size()) % 64, ' ');
  text += '\n';
  std::string start(magic);
  start += {'\1', '\0', char(text.size() & 255), char(text.size() >> 8)};

  Expected<AtomicFile> file = AtomicFile::create(path);
  if (!file.ok())
    return file.status();
  if (Status status = file->write(start + text); !status.ok())
    return status;
  if (Status status = file->write(values, count * sizeof(T)); !status.ok())
    return status;
  return file->commit();
}

Expected<NpyArray<float>> readNpyFloats(const std::string &path) { return read<float>(path); }
Expected<NpyArray<int32_t>> readNpyIntegers(const std::string &path) { return read<int32_t>(path); }

Status writeNpy(const std::string &path, const std::vector<int64_t> &shape, const float *values) {
  return write(path, shape, values);
}
Status writeNpy(const std::string &path, const std::vector<int64_t> &shape, const int32_t *values) {
  return write(path, shape, values);
}

} // namespace strata
