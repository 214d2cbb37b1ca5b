/* The types of the CUDA 13.0 runtime that speak of memory: arrays, copies and
 * fills, where memory is, pools, pointers' attributes, handles for other
 * processes. Part of cuda_runtime_types.h; it needs no other header. */
#ifndef __FAULTLINE_CUDA_RUNTIME_MEMORY_H__
#define __FAULTLINE_CUDA_RUNTIME_MEMORY_H__

#include <stddef.h>

/* ---- Memory Management ---- */

/* Flags of cudaHostAlloc: usable in every context; mapped for devices; write-combined */
#define cudaHostAllocDefault       0x00
#define cudaHostAllocPortable      0x01
#define cudaHostAllocMapped        0x02
#define cudaHostAllocWriteCombined 0x04

/* Flags of cudaHostRegister: usable in every context; mapped for devices; memory of another device; only read by
 * devices */
#define cudaHostRegisterDefault  0x00
#define cudaHostRegisterPortable 0x01
#define cudaHostRegisterMapped   0x02
#define cudaHostRegisterIoMemory 0x04
#define cudaHostRegisterReadOnly 0x08

/* Who may access managed memory: any stream of any device; the host only; one stream */
#define cudaMemAttachGlobal 0x01
#define cudaMemAttachHost   0x02
#define cudaMemAttachSingle 0x04

/* In the place of a device: the host; none */
#define cudaCpuDeviceId     ((int)-1)
#define cudaInvalidDeviceId ((int)-2)

/* What kind of memory an address is of */
enum cudaMemoryType {
    cudaMemoryTypeUnregistered = 0,  /* pageable memory of the host */
    cudaMemoryTypeHost         = 1,
    cudaMemoryTypeDevice       = 2,
    cudaMemoryTypeManaged      = 3,
};

/* From where to where a copy goes */
enum cudaMemcpyKind {
    cudaMemcpyHostToHost     = 0,
    cudaMemcpyHostToDevice   = 1,
    cudaMemcpyDeviceToHost   = 2,
    cudaMemcpyDeviceToDevice = 3,
    cudaMemcpyDefault        = 4,  /* what the addresses say */
};

/* Where memory is or should be */
enum cudaMemLocationType {
    cudaMemLocationTypeInvalid         = 0,
    cudaMemLocationTypeNone            = 0,  /* nowhere */
    cudaMemLocationTypeDevice          = 1,  /* id: device */
    cudaMemLocationTypeHost            = 2,  /* id: ignored */
    cudaMemLocationTypeHostNuma        = 3,  /* id: NUMA node */
    cudaMemLocationTypeHostNumaCurrent = 4,  /* the calling thread's node; id: ignored */
};

/* A processor or memory: id is a device ordinal or a NUMA node, according to type */
struct cudaMemLocation {
    enum cudaMemLocationType type;
    int id;
};

/* ---- Arrays ---- */

/* What a channel of an element holds */
enum cudaChannelFormatKind {
    cudaChannelFormatKindSigned                       = 0,
    cudaChannelFormatKindUnsigned                     = 1,
    cudaChannelFormatKindFloat                        = 2,
    cudaChannelFormatKindNone                         = 3,
    cudaChannelFormatKindNV12                         = 4,
    cudaChannelFormatKindUnsignedNormalized8X1        = 5,
    cudaChannelFormatKindUnsignedNormalized8X2        = 6,
    cudaChannelFormatKindUnsignedNormalized8X4        = 7,
    cudaChannelFormatKindUnsignedNormalized16X1       = 8,
    cudaChannelFormatKindUnsignedNormalized16X2       = 9,
    cudaChannelFormatKindUnsignedNormalized16X4       = 10,
    cudaChannelFormatKindSignedNormalized8X1          = 11,
    cudaChannelFormatKindSignedNormalized8X2          = 12,
    cudaChannelFormatKindSignedNormalized8X4          = 13,
    cudaChannelFormatKindSignedNormalized16X1         = 14,
    cudaChannelFormatKindSignedNormalized16X2         = 15,
    cudaChannelFormatKindSignedNormalized16X4         = 16,
    cudaChannelFormatKindUnsignedBlockCompressed1     = 17,
    cudaChannelFormatKindUnsignedBlockCompressed1SRGB = 18,
    cudaChannelFormatKindUnsignedBlockCompressed2     = 19,
    cudaChannelFormatKindUnsignedBlockCompressed2SRGB = 20,
    cudaChannelFormatKindUnsignedBlockCompressed3     = 21,
    cudaChannelFormatKindUnsignedBlockCompressed3SRGB = 22,
    cudaChannelFormatKindUnsignedBlockCompressed4     = 23,
    cudaChannelFormatKindSignedBlockCompressed4       = 24,
    cudaChannelFormatKindUnsignedBlockCompressed5     = 25,
    cudaChannelFormatKindSignedBlockCompressed5       = 26,
    cudaChannelFormatKindUnsignedBlockCompressed6H    = 27,
    cudaChannelFormatKindSignedBlockCompressed6H      = 28,
    cudaChannelFormatKindUnsignedBlockCompressed7     = 29,
    cudaChannelFormatKindUnsignedBlockCompressed7SRGB = 30,
    cudaChannelFormatKindUnsignedNormalized1010102    = 31,
};

/* An element of an array: the bits of each channel (0: there is none) and what they hold */
struct cudaChannelFormatDesc {
    int x;
    int y;
    int z;
    int w;
    enum cudaChannelFormatKind f;
};

typedef struct cudaArray *cudaArray_t;
typedef const struct cudaArray *cudaArray_const_t;
typedef struct cudaMipmappedArray *cudaMipmappedArray_t;
typedef const struct cudaMipmappedArray *cudaMipmappedArray_const_t;

/* Flags of arrays: layered; usable as a surface; the six faces of a cube; texture gather; graphics may draw into
 * it; without memory until tiles are mapped; without memory until it is mapped as a whole */
#define cudaArrayDefault          0x00
#define cudaArrayLayered          0x01
#define cudaArraySurfaceLoadStore 0x02
#define cudaArrayCubemap          0x04
#define cudaArrayTextureGather    0x08
#define cudaArrayColorAttachment  0x20
#define cudaArraySparse           0x40
#define cudaArrayDeferredMapping  0x80

/* Flag of cudaArraySparseProperties: all layers' small levels share one tail */
#define cudaArraySparsePropertiesSingleMipTail 0x1

/* How a sparse array is divided: tiles in elements, the tail of its small levels in bytes */
struct cudaArraySparseProperties {
    struct {
        unsigned int width;
        unsigned int height;
        unsigned int depth;
    } tileExtent;
    unsigned int miptailFirstLevel;  /* and all behind it */
    unsigned long long miptailSize;
    unsigned int flags;
    unsigned int reserved[4];
};

/* In bytes */
struct cudaArrayMemoryRequirements {
    size_t size;
    size_t alignment;
    unsigned int reserved[4];
};

/* ---- Copies and Fills ---- */

/* Rows of memory: pitch is the bytes from one row to the next, xsize and ysize the allocation in elements */
struct cudaPitchedPtr {
    void *ptr;
    size_t pitch;
    size_t xsize;
    size_t ysize;
};

/* In elements if an array takes part, else width in bytes */
struct cudaExtent {
    size_t width;
    size_t height;
    size_t depth;
};

struct cudaPos {
    size_t x;
    size_t y;
    size_t z;
};

/* A copy of a box; each side is an array or memory, the other member is zero */
struct cudaMemcpy3DParms {
    cudaArray_t srcArray;
    struct cudaPos srcPos;
    struct cudaPitchedPtr srcPtr;
    cudaArray_t dstArray;
    struct cudaPos dstPos;
    struct cudaPitchedPtr dstPtr;
    struct cudaExtent extent;
    enum cudaMemcpyKind kind;
};

/* Between devices */
struct cudaMemcpy3DPeerParms {
    cudaArray_t srcArray;
    struct cudaPos srcPos;
    struct cudaPitchedPtr srcPtr;
    int srcDevice;
    cudaArray_t dstArray;
    struct cudaPos dstPos;
    struct cudaPitchedPtr dstPtr;
    int dstDevice;
    struct cudaExtent extent;
};

/* What cudaMemcpyBatchAsync may do with the source */
enum cudaMemcpySrcAccessOrder {
    cudaMemcpySrcAccessOrderInvalid       = 0x0,
    cudaMemcpySrcAccessOrderStream        = 0x1,         /* read in stream order */
    cudaMemcpySrcAccessOrderDuringApiCall = 0x2,         /* read before the call returns */
    cudaMemcpySrcAccessOrderAny           = 0x3,         /* read at any time, also before work queued earlier */
    cudaMemcpySrcAccessOrderMax           = 0x7FFFFFFF,
};

enum cudaMemcpyFlags {
    cudaMemcpyFlagDefault                  = 0x0,
    cudaMemcpyFlagPreferOverlapWithCompute = 0x1,  /* rather beside kernels than fast */
};

/* For some of a batch's copies; where addresses do not say where memory is, the hints do */
struct cudaMemcpyAttributes {
    enum cudaMemcpySrcAccessOrder srcAccessOrder;
    struct cudaMemLocation srcLocHint;
    struct cudaMemLocation dstLocHint;
    unsigned int flags;
};

enum cudaMemcpy3DOperandType {
    cudaMemcpyOperandTypePointer = 0x1,
    cudaMemcpyOperandTypeArray   = 0x2,
    cudaMemcpyOperandTypeMax     = 0x7FFFFFFF,
};

struct cudaOffset3D {
    size_t x;
    size_t y;
    size_t z;
};

/* A side of a batch's three-dimensional copy */
struct cudaMemcpy3DOperand {
    enum cudaMemcpy3DOperandType type;
    union {
        struct {
            void *ptr;
            size_t rowLength;                /* in elements, 0: the extent's */
            size_t layerHeight;              /* in elements, 0: the extent's */
            struct cudaMemLocation locHint;
        } ptr;
        struct {
            cudaArray_t array;
            struct cudaOffset3D offset;
        } array;
    } op;
};

struct cudaMemcpy3DBatchOp {
    struct cudaMemcpy3DOperand src;
    struct cudaMemcpy3DOperand dst;
    struct cudaExtent extent;
    enum cudaMemcpySrcAccessOrder srcAccessOrder;
    unsigned int flags;
};

/* ---- Managed Memory ---- */

/* What cudaMemAdvise can say */
enum cudaMemoryAdvise {
    cudaMemAdviseSetReadMostly          = 1,  /* processors that read it get copies */
    cudaMemAdviseUnsetReadMostly        = 2,
    cudaMemAdviseSetPreferredLocation   = 3,
    cudaMemAdviseUnsetPreferredLocation = 4,
    cudaMemAdviseSetAccessedBy          = 5,  /* a processor has it mapped, wherever it is */
    cudaMemAdviseUnsetAccessedBy        = 6,
};

/* What cudaMemRangeGetAttribute can be asked */
enum cudaMemRangeAttribute {
    cudaMemRangeAttributeReadMostly               = 1,  /* 1 if all of it is */
    cudaMemRangeAttributePreferredLocation        = 2,  /* device, cudaCpuDeviceId or cudaInvalidDeviceId */
    cudaMemRangeAttributeAccessedBy               = 3,  /* as many devices as there is room for */
    cudaMemRangeAttributeLastPrefetchLocation     = 4,  /* as the preferred one; not whether it has arrived */
    cudaMemRangeAttributePreferredLocationType    = 5,  /* cudaMemLocationType */
    cudaMemRangeAttributePreferredLocationId      = 6,
    cudaMemRangeAttributeLastPrefetchLocationType = 7,
    cudaMemRangeAttributeLastPrefetchLocationId   = 8,
};

/* ---- Stream Ordered Memory Allocator ---- */

typedef struct CUmemPoolHandle_st *cudaMemPool_t;

/* What a pool can be asked and told; sizes in bytes, 64 bits wide, yes is 1 and no is 0 */
enum cudaMemPoolAttr {
    cudaMemPoolReuseFollowEventDependencies   = 0x1,  /* memory freed in another stream that this one waits for */
    cudaMemPoolReuseAllowOpportunistic        = 0x2,  /* memory whose free has been reached */
    cudaMemPoolReuseAllowInternalDependencies = 0x3,  /* also if the streams must be ordered for it */
    cudaMemPoolAttrReleaseThreshold           = 0x4,  /* that is kept when a stream is waited for */
    cudaMemPoolAttrReservedMemCurrent         = 0x5,
    cudaMemPoolAttrReservedMemHigh            = 0x6,  /* since it was set to 0 */
    cudaMemPoolAttrUsedMemCurrent             = 0x7,
    cudaMemPoolAttrUsedMemHigh                = 0x8,  /* likewise */
};

enum cudaMemAccessFlags {
    cudaMemAccessFlagsProtNone      = 0,
    cudaMemAccessFlagsProtRead      = 1,
    cudaMemAccessFlagsProtReadWrite = 3,
};

/* Who may access memory, and how */
struct cudaMemAccessDesc {
    struct cudaMemLocation location;
    enum cudaMemAccessFlags flags;
};

enum cudaMemAllocationType {
    cudaMemAllocationTypeInvalid = 0x0,
    cudaMemAllocationTypePinned  = 0x1,         /* stays where it is */
    cudaMemAllocationTypeManaged = 0x2,         /* migrates */
    cudaMemAllocationTypeMax     = 0x7FFFFFFF,
};

/* As what memory can be given to another process; they may be joined */
enum cudaMemAllocationHandleType {
    cudaMemHandleTypeNone                = 0x0,
    cudaMemHandleTypePosixFileDescriptor = 0x1,
    cudaMemHandleTypeWin32               = 0x2,
    cudaMemHandleTypeWin32Kmt            = 0x4,
    cudaMemHandleTypeFabric              = 0x8,
};

/* A use of cudaMemPoolProps: buffers of the decompression engine */
#define cudaMemPoolCreateUsageHwDecompress 0x2

struct cudaMemPoolProps {
    enum cudaMemAllocationType allocType;
    enum cudaMemAllocationHandleType handleTypes;
    struct cudaMemLocation location;
    void *win32SecurityAttributes;
    size_t maxSize;                                /* 0: as the system likes */
    unsigned short usage;                          /* cudaMemPoolCreateUsage... */
    unsigned char reserved[54];
};

/* Names an allocation of a pool to another process */
struct cudaMemPoolPtrExportData {
    unsigned char reserved[64];
};

/* What a graph's memory can be asked: bytes */
enum cudaGraphMemAttributeType {
    cudaGraphMemAttrUsedMemCurrent     = 0x0,
    cudaGraphMemAttrUsedMemHigh        = 0x1,
    cudaGraphMemAttrReservedMemCurrent = 0x2,
    cudaGraphMemAttrReservedMemHigh    = 0x3,
};

/* ---- Unified Addressing ---- */

/* What an address is of */
struct cudaPointerAttributes {
    enum cudaMemoryType type;
    int device;                /* of its memory, or current when it was allocated */
    void *devicePointer;       /* NULL: no device may access it */
    void *hostPointer;         /* NULL: the host may not */
    long reserved[8];
};

/* ---- Other Processes ---- */

/* Bytes of a handle that names an object to another process */
#define CUDA_IPC_HANDLE_SIZE 64

/* Flag of cudaIpcOpenMemHandle: peer access is enabled if it takes that */
#define cudaIpcMemLazyEnablePeerAccess 0x01

typedef struct cudaIpcEventHandle_st {
    char reserved[CUDA_IPC_HANDLE_SIZE];
} cudaIpcEventHandle_t;

typedef struct cudaIpcMemHandle_st {
    char reserved[CUDA_IPC_HANDLE_SIZE];
} cudaIpcMemHandle_t;

typedef struct cudaMemFabricHandle_st {
    char reserved[CUDA_IPC_HANDLE_SIZE];
} cudaMemFabricHandle_t;

/* ---- Peer Device Memory Access ---- */

#define cudaPeerAccessDefault 0x00

/* What can be asked of two devices */
enum cudaDeviceP2PAttr {
    cudaDevP2PAttrPerformanceRank                  = 1,  /* 0 is the fastest link */
    cudaDevP2PAttrAccessSupported                  = 2,
    cudaDevP2PAttrNativeAtomicSupported            = 3,
    cudaDevP2PAttrCudaArrayAccessSupported         = 4,
    cudaDevP2PAttrOnlyPartialNativeAtomicSupported = 5,
};

/* Atomic operations that a device performs on another's or the host's memory */
enum cudaAtomicOperation {
    cudaAtomicOperationIntegerAdd       = 0,
    cudaAtomicOperationIntegerMin       = 1,
    cudaAtomicOperationIntegerMax       = 2,
    cudaAtomicOperationIntegerIncrement = 3,
    cudaAtomicOperationIntegerDecrement = 4,
    cudaAtomicOperationAnd              = 5,
    cudaAtomicOperationOr               = 6,
    cudaAtomicOperationXOR              = 7,
    cudaAtomicOperationExchange         = 8,
    cudaAtomicOperationCAS              = 9,
    cudaAtomicOperationFloatAdd         = 10,
    cudaAtomicOperationFloatMin         = 11,
    cudaAtomicOperationFloatMax         = 12,
};

/* How it can: the kinds and widths of operands, as bits */
enum cudaAtomicOperationCapability {
    cudaAtomicCapabilitySigned     = 1u << 0,
    cudaAtomicCapabilityUnsigned   = 1u << 1,
    cudaAtomicCapabilityReduction  = 1u << 2,
    cudaAtomicCapabilityScalar32   = 1u << 3,
    cudaAtomicCapabilityScalar64   = 1u << 4,
    cudaAtomicCapabilityScalar128  = 1u << 5,
    cudaAtomicCapabilityVector32x4 = 1u << 6,
};

#endif
