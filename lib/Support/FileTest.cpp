//===- FileTest.cpp -------------------------------------------------------===//
#include "strata/lib/Support/File.h"

#include "strata/lib/Support/TestFolder.h"

#include <csignal>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace strata;
using Names = std::vector<std::string>;

namespace {

TEST(MappedFile, GivesTheBytes) {
  TestFolder folder;
  Expected<MappedFile> file = MappedFile::open(folder.write("a", "hello"));
  ASSERT_TRUE(file.ok());
  MappedFile moved = std::move(*file);
  EXPECT_EQ(moved.text(), "hello");
}

TEST(MappedFile, EmptyFile) {
  TestFolder folder;
  Expected<MappedFile> file = MappedFile::open(folder.write("a", ""));
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(file->size(), 0u);
}

TEST(MappedFile, MissingFileIsNamed) {
  TestFolder folder;
  Status status = MappedFile::open(folder.file("none")).status();
  EXPECT_EQ(status.code(), StatusCode::NotFound);
  EXPECT_EQ(status.message(), folder.file("none") + ": can't be opened: No such file or directory");
}

TEST(MappedFile, FolderAndDeviceAreNoFiles) {
  TestFolder folder;
  EXPECT_EQ(MappedFile::open(folder.path()).status().message(),
            folder.path() + ": expected a file but got a folder");
  EXPECT_EQ(MappedFile::open("/dev/null").status().message(),
            "/dev/null: expected a file but got a device or pipe");
}

TEST(AtomicFile, AppearsOnCommit) {
  TestFolder folder;
  Expected<AtomicFile> file = AtomicFile::create(folder.file("out"));
  ASSERT_TRUE(file.ok());
  EXPECT_TRUE(file->write("one ").ok());
  EXPECT_FALSE(std::filesystem::exists(folder.file("out")));
  EXPECT_TRUE(file->write("two").ok());
  EXPECT_TRUE(file->commit().ok());
  EXPECT_EQ(folder.read("out"), "one two");
  EXPECT_EQ(folder.names(), Names{"out"});
}

TEST(AtomicFile, WithoutCommitTheOldContentStays) {
  TestFolder folder;
  folder.write("out", "old");
  {
    Expected<AtomicFile> file = AtomicFile::create(folder.file("out"));
    ASSERT_TRUE(file.ok());
    EXPECT_TRUE(file->write("new").ok());
  }
  EXPECT_EQ(folder.read("out"), "old");
  EXPECT_EQ(folder.names(), Names{"out"});
}

TEST(AtomicFile, KeepsALinkAndReplacesItsTarget) {
  TestFolder folder;
  folder.write("target", "old");
  std::filesystem::create_symlink("target", folder.file("link"));
  EXPECT_TRUE(writeFile(folder.file("link"), "new").ok());
  EXPECT_TRUE(std::filesystem::is_symlink(folder.file("link")));
  EXPECT_EQ(folder.read("target"), "new");
}

TEST(AtomicFile, HasTheUsersPermissions) {
  TestFolder folder;
  mode_t mask = ::umask(022);
  EXPECT_TRUE(writeFile(folder.file("out"), "x").ok());
  ::umask(mask);
  struct stat info;
  ASSERT_EQ(::stat(folder.file("out").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0644u);
}

TEST(AtomicFile, MissingFolderIsNamed) {
  TestFolder folder;
  Status status = writeFile(folder.file("none/out"), "x");
  EXPECT_EQ(status.code(), StatusCode::NotFound);
  EXPECT_EQ(status.message(),
            folder.file("none/out") + ": can't be written: No such file or directory");
}

TEST(AtomicFile, ReadOnlyFileStays) {
  if (::geteuid() == 0)
    GTEST_SKIP() << "root may write everywhere";
  TestFolder folder;
  std::string path = folder.write("out", "old");
  ::chmod(path.c_str(), 0444);
  EXPECT_EQ(writeFile(path, "new").message(), path + ": can't be written: Permission denied");
  EXPECT_EQ(folder.read("out"), "old");
}

TEST(AtomicFile, DevicesAreWrittenDirectly) {
  EXPECT_TRUE(writeFile("/dev/null", "x").ok());
  Status full = writeFile("/dev/full", "x");
  EXPECT_EQ(full.code(), StatusCode::Io);
  EXPECT_EQ(full.message(), "/dev/full: writing failed: No space left on device");
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/full"));
}

TEST(AtomicFile, NothingIsLeftWhenWritingFails) {
  TestFolder folder;
  folder.write("out", "old");
  // A limit on the size of files stands for a full disk.
  struct rlimit limit, small;
  ::getrlimit(RLIMIT_FSIZE, &limit);
  small = limit;
  small.rlim_cur = 1000;
  auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ::setrlimit(RLIMIT_FSIZE, &small);
  Status status = writeFile(folder.file("out"), std::string(5000, 'x'));
  ::setrlimit(RLIMIT_FSIZE, &limit);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(status.message(), folder.file("out") + ": writing failed: File too large");
  EXPECT_EQ(folder.read("out"), "old");
  EXPECT_EQ(folder.names(), Names{"out"});
}

} // namespace
