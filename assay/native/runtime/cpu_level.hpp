// The CPU level that a file is compiled for: the builder passes its number. Each level has an
// inline namespace and a table of functions of its own, so that one program can contain several
// levels.
#pragma once

#ifndef ASSAY_LEVEL
#define ASSAY_LEVEL 0
#endif

#define ASSAY_PASTE(prefix, number) prefix##number
#define ASSAY_EXPAND_AND_PASTE(prefix, number) ASSAY_PASTE(prefix, number)
#define ASSAY_LEVEL_NAMESPACE ASSAY_EXPAND_AND_PASTE(level, ASSAY_LEVEL)
#define ASSAY_LEVEL_TABLE ASSAY_EXPAND_AND_PASTE(assay_level_, ASSAY_LEVEL)
