/* Fabric handles: 64 opaque bytes by which processes of this machine that may
 * use the same IMEX channel share memory. FAULTLINE_IMEX_CHANNELS names a folder
 * of channel files; who can read one has that channel. Without it nobody has.
 *
 * The bytes name a socket of the exporter and a secret; the exporter's thread
 * hands the memory's descriptor to whoever knows both and shows that it can read
 * the channel's file, by sending an open descriptor of it. Nothing of a handle
 * can be guessed. A handle is good as long as its exporter and the memory live. */
#ifndef FL_VMM_FABRIC_H
#define FL_VMM_FABRIC_H

#include "vmm/own.h"

/* Whether this process has a channel. */
bool fabric_permitted(void);
/* With vmm_lock. CUDA_ERROR_NOT_PERMITTED: no channel. */
CUresult fabric_export(struct vmm_own *o, CUmemFabricHandle *out);
/* Without locks. A descriptor of the memory. CUDA_ERROR_NOT_SUPPORTED: no handle of this machine's;
 * CUDA_ERROR_NOT_PERMITTED: the channel is not this process's; CUDA_ERROR_INVALID_VALUE: the memory is gone. */
CUresult fabric_fetch(const CUmemFabricHandle *from, int *fd);

/* For the holders of a multicast object, who know each other by its file: whoever has these bytes may have the memory.
 * The first with vmm_lock, the second without locks. CUDA_ERROR_NOT_READY: the other process does not answer;
 * CUDA_ERROR_OPERATING_SYSTEM: this one has no descriptors left; CUDA_ERROR_INVALID_VALUE: the memory is gone. */
CUresult fabric_invite(struct vmm_own *o, unsigned char socket[SECRET], unsigned char secret[SECRET]);
/* Whether a process that invited has not ended, as far as can be told. */
bool fabric_answers(const unsigned char socket[SECRET]);
CUresult fabric_accept(const unsigned char socket[SECRET], const unsigned char secret[SECRET], int *fd);

#endif
