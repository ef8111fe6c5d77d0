//===- TestFolder.h - A folder for the files of one unit test ---*- C++ -*-===//
#ifndef STRATA_LIB_SUPPORT_TESTFOLDER_H
#define STRATA_LIB_SUPPORT_TESTFOLDER_H

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace strata {

/// A new folder that is removed with all that lies in it.
class TestFolder {
public:
  TestFolder() {
    std::string pattern = std::filesystem::temp_directory_path() / "strata-test-XXXXXX";
    if (!::mkdtemp(pattern.data()))
      std::abort();
    path_ = pattern;
  }
  TestFolder(const TestFolder &) = delete;
  TestFolder &operator=(const TestFolder &) = delete;
  ~TestFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  const std::string &path() const { return path_; }
  std::string file(const std::string &name) const { return path_ + "/" + name; }

  /// Writes a file and returns its path.
  std::string write(const std::string &name, const std::string &content) const {
    std::ofstream(file(name), std::ios::binary) << content;
    return file(name);
  }
  std::string read(const std::string &name) const {
    std::ifstream stream(file(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  /// Ascending.
  std::vector<std::string> names() const {
    std::vector<std::string> result;
    for (const auto &entry : std::filesystem::directory_iterator(path_))
      result.push_back(entry.path().filename());
    std::sort(result.begin(), result.end());
    return result;
  }

private:
  std::string path_;
};

} // namespace strata

#endif // STRATA_LIB_SUPPORT_TESTFOLDER_H
