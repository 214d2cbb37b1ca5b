/* A compiled module, as faultline-ptxc writes it, the cache keeps it and the
 * module loader and the device process read it: one flat file, little endian,
 * all offsets from its start. The code is position independent and refers to
 * nothing outside itself, so loading is copying; what is loaded is mapped
 * readable and executable into the device process.
 *
 * Large modules are compiled in parts, each when one of its kernels is first
 * launched: their image has no code, but, behind what is loaded, the IR of each
 * part. What comes of a part is a file of its own, struct fl_code. */
#ifndef FL_PTX_IMAGE_H
#define FL_PTX_IMAGE_H

#include <stdint.h>

#define FL_IMAGE_MAGIC "FLIMAGE1"
#define FL_NONE 0xffffffffu

struct fl_image {
    char magic[8];
    uint32_t abi;                  /* FL_ABI_VERSION */
    uint32_t target;               /* 90 for sm_90 */
    uint64_t size;                 /* of the file */
    uint64_t loaded;               /* so much of it goes to the device: all but the IR */
    uint64_t code, code_size;      /* page aligned */
    uint32_t symbols, nsymbols;    /* struct fl_image_symbol[] */
    uint32_t relocs, nrelocs;      /* struct fl_image_reloc[] */
    uint32_t kernels, nkernels;    /* struct fl_image_kernel[] in the order of the PTX */
    uint32_t segments, nsegments;  /* struct fl_image_segment[] */
    uint32_t params, nparams;      /* struct fl_image_param[] */
    uint32_t slots, nslots;        /* uint32_t[]: of a wgmma's sums, from its segment's imm1 on */
    uint32_t lines, nlines;        /* struct fl_image_line[] in the order of the PTX */
    uint32_t parts, nparts;        /* struct fl_image_part[] */
    uint32_t units, nunits;        /* struct fl_image_unit[], those of the first part first */
    uint32_t strings;              /* NUL-terminated strings */
    uint32_t strings_size;
};

enum fl_symbol_kind { FL_SYMBOL_GLOBAL, FL_SYMBOL_CONST, FL_SYMBOL_MANAGED, FL_SYMBOL_FUNCTION,
                      FL_SYMBOL_TEXTURE, FL_SYMBOL_SURFACE /* references */ };
static inline int fl_symbol_is_reference(uint32_t kind) { return kind == FL_SYMBOL_TEXTURE || kind == FL_SYMBOL_SURFACE; }
/* The linker writes this pragma between the files that it makes one of. */
#define FL_PIECE_PRAGMA "faultline: another file"
/* At the beginning: the same source is there in machine code for the device, which a driver would take whatever the
 * version and the target of this PTX are, so these are not looked at. The kernels that do nothing in machine code follow,
 * a string each. */
#define FL_TWIN_PRAGMA "faultline: twin of machine code"

/* A variable of the module, or a function whose address is taken.
 * fl_block.symbols[i] is the address of symbol i, of a reference the handle of
 * what the launch finds there (processor/texture.h). */
struct fl_image_symbol {
    uint32_t name;                 /* offset in strings */
    uint32_t kind;                 /* enum fl_symbol_kind */
    uint32_t align, pad;
    uint64_t size;                 /* of a variable, bytes */
    uint64_t init;                 /* variable: offset of its initial bytes in the file, 0: zeros;
                                      function: offset of its code in the file */
};

/* At load: bytes of symbol, from offset on, become those of (address of target + addend) >> shift, up to 8. */
struct fl_image_reloc { uint32_t symbol, target; uint64_t offset; int64_t addend; uint32_t bytes, shift; };

struct fl_image_kernel {
    uint32_t name;
    uint32_t first_segment, nsegments;
    uint32_t first_param, nparams;
    uint32_t param_size;           /* bytes, end of the last parameter */
    uint32_t static_shared;        /* bytes */
    uint32_t local;                /* bytes per thread in fl_block.local */
    uint32_t local_reported;       /* bytes per thread as CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES says */
    uint32_t context;              /* bytes per thread */
    uint32_t registers;            /* an estimate, for CU_FUNC_ATTRIBUTE_NUM_REGS */
    uint32_t max_threads;          /* .maxntid product or 0 */
    uint32_t reqntid[3];           /* .reqntid or 0 */
    uint32_t cluster[3];           /* .reqnctapercluster or 0 */
    uint32_t max_cluster;          /* .maxclusterrank or 0 */
    uint32_t const_size;           /* bytes of constant variables of the module */
    uint32_t flags;                /* FL_KERNEL_* */
    uint32_t stack;                /* WHOLE: bytes of stack per thread, without what recursion takes */
    uint32_t refused;              /* offset in strings: why it cannot be launched, 0: it can */
    uint32_t part;                 /* which has its code, from 1 on; 0: the code is here */
};
enum {
    FL_KERNEL_MALLOC = 1,
    FL_KERNEL_PRINTF = 2,
    FL_KERNEL_SPINS = 4,
    FL_KERNEL_WHOLE = 8 /* see abi.h */,
    FL_KERNEL_MATRIX = 16 /* it has matrix operations */,
    FL_KERNEL_FLUSHED = 32 /* it runs while the processor flushes subnormals (MXCSR) */,
    FL_KERNEL_EXPLICIT_CLUSTER = 64 /* .explicitcluster: a launch has to say which */,
    FL_KERNEL_BLOCKS_ARE_CLUSTERS = 128 /* .blocksareclusters: a launch's grid is one of clusters */,
    FL_KERNEL_RESERVED = 256 /* it asks where the reserved shared memory is, see abi.h */
};

struct fl_image_segment {
    uint64_t code; /* offset of the fl_segment_fn in the file; of a part, once it is loaded: from the image */
    uint64_t probe;                /* offset of its probe */
    uint8_t suspend;               /* enum fl_suspend: what precedes this segment */
    uint8_t op;                    /* enum fl_barrier_op or fl_warp_op */
    uint8_t width;                 /* operand bits: 32 or 64 */
    uint8_t flags;                 /* FL_SEG_* */
    uint32_t imm0, imm1;           /* barrier number and thread count, where constant */
    uint32_t line;                 /* of the suspension point in the PTX */
};

/* The PTX from this line on was made from that line of a source; line 0: of none. */
struct fl_image_line {
    uint32_t ptx, line, file; /* offset in strings */
};

struct fl_image_param { uint32_t offset, size, align, pad; };

struct fl_image_part {
    uint32_t first_unit, nunits;
    uint64_t code, end; /* where its code is, from the image, once it is loaded */
};
/* IR that LLVM compiles by itself. */
struct fl_image_unit {
    uint64_t at, size /* in the file, compressed by zstd */, text_size;
};

/* The code of one part. Offsets are from its start. */
#define FL_CODE_MAGIC "FLCODE_1"
struct fl_code {
    char magic[8];
    uint32_t abi, nplaces;
    uint64_t size;   /* of the file */
    uint64_t places; /* struct fl_code_place[] */
};
struct fl_code_place {
    uint32_t segment, pad; /* of the image */
    uint64_t code, probe;  /* probe 0: there is none */
};

/* How faultline-ptxc ends without an image; its log says more. The library answers CUDA_ERROR_ and: */
enum {
    EXIT_INVALID_PTX = 10,         /* INVALID_PTX */
    EXIT_VERSION = 11,             /* UNSUPPORTED_PTX_VERSION */
    EXIT_UNSUPPORTED = 12,         /* NOT_SUPPORTED: legal PTX that Faultline does not run */
    EXIT_INTERNAL = 13,            /* INVALID_PTX, and an error in its log: something went wrong here */
};

#endif
