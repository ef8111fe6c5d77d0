/*===- kernel-abi.h - What generated code and the runtime agree on ---------*- C -*-===*\
|*
|* One kernel is one function of this type in the package's shared object. Generated code calls nothing outside itself.
|*
\*===----------------------------------------------------------------------===*/
#ifndef STRATA_RT_KERNEL_ABI_H
#define STRATA_RT_KERNEL_ABI_H

#include <stdint.h>

/** Every package names the version of this contract; another one is refused at load. */
#define STRATA_RT_PACKAGE_VERSION 3

/**
 * Does items [begin, end) of a launch. `arguments` holds one pointer for each argument of the command; strides and widths
 * are constants of the kernel. Several threads call it at once with disjoint ranges.
 */
typedef void (*strata_rt_kernel)(void *const *arguments, int64_t begin, int64_t end);

#endif
