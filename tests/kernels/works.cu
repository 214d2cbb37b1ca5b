/* Preprocessed where the build is configured: an nvcc of another CUDA cannot compile what tests are for, and one that
 * finds no compiler for the host, or one that it does not take, compiles nothing. */
#if __CUDACC_VER_MAJOR__ != 13
#error "an nvcc of CUDA 13 is wanted"
#endif
