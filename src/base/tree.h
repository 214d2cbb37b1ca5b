/* Red-black trees (RB_HEAD and the like) of which one file has all functions to
 * itself, and need not use every one. */
#ifndef FL_BASE_TREE_H
#define FL_BASE_TREE_H

#include <bsd/sys/tree.h>

#define TREE_FUNCTIONS(name, type, field, compare) \
    RB_GENERATE_INTERNAL(name, type, field, compare, __attribute__((unused)) static)

#endif
