//===- KernelLibraryTest.cpp ----------------------------------------------===//
#include "strata/runtime/cpu/KernelLibrary.h"

#include "strata/lib/Support/File.h"
#include "strata/lib/Support/TestFolder.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

using namespace strata;
using namespace strata::rt;

static void expectGather(const Expected<LoadedObject> &object) {
  ASSERT_TRUE(object.ok()) << object.status().message();
  auto gather = reinterpret_cast<strata_rt_kernel>(dlsym(object->handle, "gather"));
  ASSERT_TRUE(gather);
  int32_t id = 1;
  float table[64] = {}, row[32];
  table[32] = 5;
  void *arguments[] = {&id, table, row};
  gather(arguments, 0, 1);
  EXPECT_EQ(row[0], 5);
}

TEST(KernelLibrary, LoadsFromMemory) {
  Expected<MappedFile> file = MappedFile::open(STRATA_TEST_KERNELS);
  ASSERT_TRUE(file.ok());
  // Twice at a time: each must have a path of its own.
  Expected<LoadedObject> first = openFromMemory(file->text());
  Expected<LoadedObject> second = openFromMemory(file->text());
  expectGather(first);
  expectGather(second);
  EXPECT_NE(first->handle, second->handle);
  for (const auto &object : {first, second}) {
    dlclose(object->handle);
    close(object->file);
  }
}

TEST(KernelLibrary, LoadsFromATemporaryFileThatIsRemoved) {
  Expected<MappedFile> file = MappedFile::open(STRATA_TEST_KERNELS);
  ASSERT_TRUE(file.ok());
  TestFolder folder;
  Expected<LoadedObject> object = openFromTemporaryFile(file->text(), folder.path());
  expectGather(object);
  EXPECT_TRUE(folder.names().empty());
  dlclose(object->handle);
}

TEST(KernelLibrary, BytesThatAreNoObjectAreRefused) {
  TestFolder folder;
  EXPECT_EQ(openFromMemory("nothing").status().code(), StatusCode::Corrupt);
  EXPECT_EQ(openFromTemporaryFile("nothing", folder.path()).status().code(), StatusCode::Corrupt);
  EXPECT_TRUE(folder.names().empty());
  EXPECT_EQ(openFromTemporaryFile("nothing", folder.file("absent")).status().code(),
            StatusCode::Io);
}

TEST(KernelLibrary, EveryProcessorRunsTheBaseline) {
  EXPECT_GE(processorRank("x86-64"), 0);
  EXPECT_LT(processorRank("armv9"), 0);
  EXPECT_LT(processorRank(""), 0);
  // Each level includes the one below.
  if (processorRank("x86-64-v4") >= 0)
    EXPECT_GT(processorRank("x86-64-v4"), processorRank("x86-64-v3"));
  if (processorRank("x86-64-v3") >= 0)
    EXPECT_GT(processorRank("x86-64-v3"), processorRank("x86-64"));
}
