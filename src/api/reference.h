/* Texture and surface references: variables of a module whose state is set by
 * calls, and which a launch finds as handles of objects that are like it. */
#ifndef FL_API_REFERENCE_H
#define FL_API_REFERENCE_H

#include "api/texture.h"
#include "module/module.h"

/* What a reference is of. */
enum reference_kind { REFERENCE_UNSET, REFERENCE_ARRAY, REFERENCE_MIPMAPPED, REFERENCE_LINEAR, REFERENCE_PITCH2D };

struct reference { /* CUtexref_st, CUsurfref_st */
    struct object_link link;
    bool alive; /* this and what follows: of this life, under the lock */
    bool surface;
    bool of_module; /* which gives it back */
    uint32_t symbol;
    bool changed; /* since the last launch */
    enum reference_kind kind;
    CUarray array;
    CUmipmappedArray mipmapped;
    CUdeviceptr address;
    size_t bytes, width, height, pitch; /* of memory: all, or of a plane */
    CUarray_format format;
    int channels;
    CUDA_TEXTURE_DESC texture;
};

/* References are looked at and changed between these two. A handle that is none: CUDA_ERROR_INVALID_HANDLE, unlocked. */
CUresult reference_lock(void *handle, bool surface, struct reference **out);
CUresult reference_unlock(CUresult r);

/* An array that was destroyed is as none (observed on an H200). */
void reference_check(struct reference *r);

/* One that no module knows. CUDA_ERROR_OUT_OF_MEMORY. */
CUresult reference_new(struct reference **out);
void reference_free(struct reference *r);

/* A module's. CUDA_ERROR_NOT_FOUND, CUDA_ERROR_OUT_OF_MEMORY. */
CUresult reference_of_module(struct module *m, const char *name, bool surface, struct reference **out);
/* The symbol table of a launch that comes now: what is set for references now. CUDA_ERROR_NOT_SUPPORTED and what
 * cuTexObjectCreate answers of what it cannot be; CUDA_ERROR_OUT_OF_MEMORY. It stays until the end, and as long as what
 * was issued before that runs. */
CUresult reference_symbols(struct module *m, uint64_t *va);
void reference_symbols_end(struct module *m, uint64_t va);

#endif
