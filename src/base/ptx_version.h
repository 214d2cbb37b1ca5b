/* PTX of CUDA 13.1 and later. Its compiler here is that of 13.0, which refuses what it does not know of a newer version,
 * but knows most of what is in it. */
#ifndef FL_BASE_PTX_VERSION_H
#define FL_BASE_PTX_VERSION_H

/* The version that the text states, and each file that was joined to it, becomes that of CUDA 13.0, if it is one up to
 * CUDA 13.minor's. text is changed where it is. A tab then stands before it, so that the
 * compiler takes what it knows of later ones. */
void ptx_lower_version(char *text, int minor);
enum { PTX_LOWERED = '\t' };

/* Any minor version: machine code, in whose place the PTX is, runs on all drivers of its major version. */
enum { PTX_ANY_MINOR = 9 };

#endif
