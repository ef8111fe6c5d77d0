"""The GoogleTest programs: whatever in the build's bin folder ends in Test or Tests."""

import os

import lit.formats

config.name = "Strata-Unit"
config.test_format = lit.formats.GoogleTest(".", "Test")
config.test_format.test_suffixes = {"Test", "Tests"}
config.test_source_root = os.path.join(config.strata_build_dir, "bin")
config.test_exec_root = config.test_source_root
