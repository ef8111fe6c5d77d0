//===- Program.h - How the project's programs begin -------------*- C++ -*-===//
#ifndef STRATA_LIB_SUPPORT_PROGRAM_H
#define STRATA_LIB_SUPPORT_PROGRAM_H

namespace strata {

/// For the first line of `main`: what would kill the program becomes an error that is told.
/// - Where `new` gets no memory, the line "`prefix`error: out of memory" is printed and the program
///   ends with 1: without exceptions containers could only abort.
/// - Writing beyond a limit for file sizes fails (EFBIG) and raises no signal, which would leave
///   half a file behind.
/// `prefix` lives as long as the program.
void beginProgram(const char *prefix);

} // namespace strata

#endif // STRATA_LIB_SUPPORT_PROGRAM_H
