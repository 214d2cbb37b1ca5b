"""PyTorch's eager operations on simulated GPUs.

PyTorch's own kernels are machine code, which Faultline cannot run. After

    import faultline_eager

each operation on CUDA tensors that would launch one is computed by the CPU: its
arguments are copied from the device, its results to the device. Memory stays what
it is: tensors are allocated by PyTorch's caching allocator in device memory, and
whatever only moves or maps memory is PyTorch's own code. Kernels of Triton and of
torch.compile run on the device as before.

A program that does not import it: python faultline_eager.py PROGRAM.py ARGUMENT...

Not for measuring time. Random numbers are the CPU generator's. Operations that have
no implementation for the CPU (fused cells of recurrent networks, say) fail.
"""

import runpy
import sys

import torch

CPU = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)

# These need no kernel: they allocate, describe or move memory, or only look at it.
NO_KERNEL = {
    "empty.memory_format", "empty_strided", "_pin_memory", "is_pinned", "record_stream", "_local_scalar_dense",
    "resize_", "set_", "set_.source_Storage", "set_.source_Storage_storage_offset", "set_.source_Tensor",
    "set_.source_Tensor_storage_offset", "_copy_from", "_copy_from_and_resize", "is_set_to", "copy_",
}
# What chooses among kernels, or exists for CUDA as one kernel and for the CPU as another operation.
BY_HAND = {"convolution", "convolution_backward", "convolution_overrideable"}


def span(t):
    """The first element of a tensor in its storage, and how many there are up to its last one."""
    if not t.numel():
        return t.storage_offset(), 0
    return t.storage_offset(), 1 + sum((n - 1) * s for n, s in zip(t.size(), t.stride()))


def flat(t):
    """All that lies between a tensor's first element and its last, as one row."""
    offset, n = span(t)
    return torch.empty(0, dtype=t.dtype, device=t.device).set_(t.untyped_storage(), offset, (n,), (1,))


def move(to, source, non_blocking=False):
    """A copy that is one copy of memory."""
    return torch.ops.aten.copy_.default.redispatch(CPU, to, source, non_blocking)


def down(t):
    """A tensor like this one in the host's memory."""
    row = torch.empty(span(t)[1], dtype=t.dtype)
    move(row, flat(t))
    h = torch.empty(0, dtype=t.dtype).set_(row.untyped_storage(), 0, t.size(), t.stride())
    h = torch._neg_view(h) if t.is_neg() else h
    return h.conj() if t.is_conj() else h


def up(h, device):
    """A tensor like this one in the device's memory."""
    if h.is_neg() or h.is_conj():
        h = h.resolve_neg().resolve_conj()
    if span(h)[1] != h.numel():
        h = h.contiguous()
    t = torch.empty_strided(h.size(), h.stride(), dtype=h.dtype, device=device)
    move(flat(t), flat(h))
    return t


def is_cuda(x):
    return isinstance(x, torch.Tensor) and x.is_cuda


def each(x, f):
    """f of x, or of all that the list x has."""
    return type(x)(each(e, f) for e in x) if isinstance(x, (list, tuple)) else f(x)


def tensors(x):
    return [t for e in x for t in tensors(e)] if isinstance(x, (list, tuple)) else [x] if is_cuda(x) else []


def check_devices(op, given):
    """Refuses what PyTorch's kernels refuse: tensors of different devices, but for numbers of the host's."""
    if op.name().startswith("aten::_foreach") or op.name().startswith("aten::index"):
        return
    places = {str(t.device) for x in given for t in (x if isinstance(x, (list, tuple)) else [x])
              if isinstance(t, torch.Tensor) and (t.is_cuda or t.dim())}
    if len(places) > 1:
        raise RuntimeError("Expected all tensors to be on the same device, but found at least two devices, "
                           + " and ".join(sorted(places)) + "!")


class OnHost:
    """An operation for CUDA tensors that the CPU computes."""

    def __init__(self, op):
        self.op = op
        self.arguments = op._schema.arguments
        self.returns = op._schema.returns

    def bind(self, args, kwargs):
        names = [a.name for a in self.arguments]
        return dict(zip(names, args)) | kwargs

    def __call__(self, *args, **kwargs):
        given = self.bind(args, kwargs)
        check_devices(self.op, given.values())
        device = given.get("device") or next((t.device for t in tensors(list(given.values()))), None)
        device = device or torch.device("cuda", torch.cuda.current_device())
        copies = {}

        def to_host(x):
            if is_cuda(x):
                if id(x) not in copies:
                    copies[id(x)] = (x, down(x))
                return copies[id(x)][1]
            return None if isinstance(x, torch.Generator) else x

        there = {name: each(x, to_host) for name, x in given.items()}
        if "device" in there:
            there["device"] = torch.device("cpu")
        positional = [there[a.name] for a in self.arguments if a.name in there and not a.kwarg_only]
        named = {a.name: there[a.name] for a in self.arguments if a.name in there and a.kwarg_only}
        result = self.op(*positional, **named)
        written = {}
        for a in self.arguments:
            if a.alias_info is not None and a.alias_info.is_write and a.name in given:
                written[a.name] = given[a.name]
                self.give_back(given[a.name], there[a.name])
        return self.result(result, written, device)

    @staticmethod
    def give_back(x, h):
        if isinstance(x, (list, tuple)):
            for e, f in zip(x, h):
                OnHost.give_back(e, f)
        elif is_cuda(x):
            if x.size() != h.size():  # out= tensors take the result's shape
                x.resize_(h.size())
            if h.stride() != x.stride() or span(h)[1] != span(x)[1] or h.dtype != x.dtype:
                h = down(x).copy_(h)
            move(flat(x), flat(h))

    def result(self, result, written, device):
        if len(self.returns) == 0:
            return None
        many = isinstance(result, tuple) and len(self.returns) > 1
        results, out = result if many else (result,), []
        for described, value in zip(self.returns, results):
            alias = described.alias_info
            if alias is not None and alias.is_write:
                out.append(next(x for name, x in written.items() if self.alias_of(name) & alias.before_set))
            else:
                out.append(each(value, lambda v: up(v, device) if isinstance(v, torch.Tensor) else v))
        return tuple(out) if many else out[0]

    def alias_of(self, name):
        return next(a.alias_info.before_set for a in self.arguments if a.name == name)


def copy(self, source, non_blocking=False):
    """aten::copy_, of which only one between different shapes or types is a kernel."""
    plain = (self.dtype == source.dtype and self.size() == source.size() and self.is_contiguous()
             and source.is_contiguous() and self.is_neg() == source.is_neg() and self.is_conj() == source.is_conj())
    if plain:
        return move(self, source, non_blocking)
    h = down(source) if source.is_cuda else source
    if self.is_cuda:
        OnHost.give_back(self, down(self).copy_(h))
    else:
        self.copy_(h)
    return self


def find(name):
    packet, _, overload = name.partition(".")
    packet = getattr(torch.ops.aten, packet, None)
    return getattr(packet, overload or "default", None)


def is_view(op):
    return any(r.alias_info is not None and not r.alias_info.is_write for r in op._schema.returns)


def enable():
    """The registrations last as long as what it returns."""
    library = torch.library.Library("aten", "IMPL")
    registered = {n.partition("::")[2] for n in torch._C._dispatch_get_registrations_for_dispatch_key("CUDA")
                  if n.startswith("aten::")}
    for name in sorted((registered | BY_HAND) - NO_KERNEL):
        op = find(name)
        if op is not None and not is_view(op):
            library.impl(name, OnHost(op), "CUDA", allow_override=True)
    library.impl("copy_", copy, "CUDA", allow_override=True)
    # where there are several kernels for the same, the one of which the CPU has an implementation, too
    torch.backends.cudnn.enabled = False
    torch.backends.cuda.enable_flash_sdp(False)
    torch.backends.cuda.enable_mem_efficient_sdp(False)
    torch.backends.cuda.enable_cudnn_sdp(False)
    return library


registrations = enable()

if __name__ == "__main__":
    sys.argv = sys.argv[1:]
    runpy.run_path(sys.argv[0], run_name="__main__")
