#!/usr/bin/env python3
"""Makes everything that follows from the table of entry points.

usage: generate.py map TABLE OUT                 the linker's list of exported symbols
       generate.py names TABLE OUT               the names that the library's own sources are compiled under
       generate.py code TABLE OUT SOURCE...      exports, wrappers, stubs and the table of cuGetProcAddress
       generate.py header TABLE CUDA_H           rewrites the generated part of cuda.h
       generate.py readme TABLE README SOURCE... rewrites the support table of README.md
With --check, header and readme change nothing and fail if the file is out of date.
"""

import os
import re
import sys
import textwrap
from collections import namedtuple

sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from generated_part import update

Entry = namedtuple("Entry", "chapter header since since_pt name symbol variant params summary")
LINE = re.compile(r"\s*(\d+)\s+(\d+|-)\s+(\S+)\s+(\w+)(?:\{(ptsz|ptds)\})?\((.*?)\)(?: \| (.*))?$")


def read_table(path):
    entries, chapter, header = [], None, None
    for number, line in enumerate(open(path), 1):
        line = line.rstrip("\n")
        if not line or line.startswith("#"):
            continue
        if line.startswith("["):
            chapter, _, header = (s.strip() for s in line[1:].partition("]"))
            continue
        m = LINE.match(line)
        if not m:
            sys.exit(f"{path}:{number}: not an entry: {line}")
        since, since_pt, name, symbol, variant, params, summary = m.groups()
        entries.append(
            Entry(
                chapter,
                header,
                int(since),
                0 if since_pt == "-" else int(since_pt),
                None if name == "-" else name,
                symbol,
                variant,
                params,
                summary,
            )
        )
    return entries


def base_name(symbol):
    """The name cuGetProcAddress knows a symbol by."""
    return re.sub(r"_v\d+$", "", symbol)


def parameters(entry):
    """[(type, name)], empty for (void)."""
    out = []
    for p in [] if entry.params == "void" else entry.params.split(", "):
        m = re.match(r"(.*?)(\w+)((?:\[\d*\])?)$", p)
        out.append((m.group(1).strip() + ("*" if m.group(3) else ""), m.group(2)))
    return out


def definitions(sources):
    found = set()
    for path in sources:
        found.update(re.findall(r"^CUresult CUDAAPI (\w+)\(", open(path).read(), re.M))
    return found


WIDER = {("unsigned int", "size_t"), ("unsigned int", "unsigned long long")}


def newer_equivalent(entry, versions):
    """The next newer ABI version that can be called with this one's arguments."""
    mine = [t for t, _ in parameters(entry)]
    for other in sorted(versions, key=lambda e: e.since):
        if other.since <= entry.since:
            continue
        theirs = [t for t, _ in parameters(other)]
        if len(mine) == len(theirs) and all(a == b or (a, b) in WIDER for a, b in zip(mine, theirs)):
            return other
    return None


class Table:
    def __init__(self, path, sources=()):
        self.entries = read_table(path)
        self.defined = definitions(sources)
        self.versions = {}
        for e in self.entries:
            self.versions.setdefault(base_name(e.symbol), []).append(e)

    def forward(self, entry):
        if entry.symbol in self.defined or entry.header:
            return None
        return newer_equivalent(entry, self.versions[base_name(entry.symbol)])

    def implemented(self, entry):
        if entry.symbol in self.defined:
            return True
        newer = self.forward(entry)
        return newer is not None and self.implemented(newer)


# ---- the linker's list


def make_map(table):
    out = ["{", "global:"]
    for e in table.entries:
        out.append(f"    {e.symbol};")
        if e.variant:
            out.append(f"    {e.symbol}_{e.variant};")
    out.append("    faultline_*;")  # include/faultline.h
    return "\n".join(out + ["local:", "    *;", "};", ""])


# ---- code
#
# A definition of cuInit in src/api becomes the symbol impl_cuInit. The exported
# cuInit calls it and reports a failure; calls within the library do not pass
# through the export.


def symbols(entries):
    for e in entries:
        yield e, ""
        if e.variant:
            yield e, "_" + e.variant


def make_names(table):
    lines = ["/* Written by src/api/generate.py. */"]
    lines += [f"#pragma redefine_extname {e.symbol}{s} impl_{e.symbol}{s}" for e, s in symbols(table.entries)]
    lines += ["#include <cuda.h>"]  # the new names hold for what is declared before it is defined
    lines += [signature(e, s) + ";" for e, s in symbols(e for e in table.entries if e.header)]
    return "\n".join(lines + [""])


# These come to nothing at which a thread can be cancelled (base/cancel.h), and are called so often that looking after
# it would be felt. tests/robustness/cancelled.c calls them while a cancellation is pending.
UNCANCELLED = {
    "cuCtxGetCurrent",
    "cuCtxGetDevice",
    "cuDeviceGetAttribute",
    "cuGetErrorName",
    "cuGetErrorString",
    "cuPointerGetAttribute",
    "cuPointerGetAttributes",
}


# What gives the program memory and what takes it back, for the ledger (trace/ledger.h): by which name, and how many bytes
# where that does not follow from it.
GIVES = {
    "cuMemAlloc_v2": ("MEMORY", "*dptr"),
    "cuMemAllocPitch_v2": ("MEMORY", "*dptr"),
    "cuMemAllocManaged": ("MEMORY", "*dptr"),
    "cuMemAllocHost_v2": ("MEMORY", "*pp"),
    "cuMemHostAlloc": ("MEMORY", "*pp"),
    "cuMemHostRegister_v2": ("MEMORY", "p"),
    "cuMemAllocAsync": ("MEMORY", "*dptr"),
    "cuMemAllocFromPoolAsync": ("MEMORY", "*dptr"),
    "cuMemPoolImportPointer": ("MEMORY", "*ptr_out"),
    "cuIpcOpenMemHandle_v2": ("MEMORY", "*pdptr"),
    "cuArrayCreate_v2": ("ARRAY", "*pHandle"),
    "cuArray3DCreate_v2": ("ARRAY", "*pHandle"),
    "cuMipmappedArrayCreate": ("ARRAY", "*pHandle"),
    "cuMemAddressReserve": ("ADDRESSES", "*ptr", "size"),
    "cuMemCreate": ("HANDLE", "*handle", "size"),
    "cuMemImportFromShareableHandle": ("HANDLE", "*handle"),
    "cuMemRetainAllocationHandle": ("HANDLE", "*handle"),
    "cuMulticastCreate": ("HANDLE", "*mcHandle"),
    "cuMemMap": ("MAPPING", "ptr", "size"),
    "cuMemPoolCreate": ("POOL", "*pool"),
    "cuMemPoolImportFromShareableHandle": ("POOL", "*pool_out"),
}
TAKES = {
    "cuMemFree_v2": ("MEMORY", "dptr"),
    "cuMemFreeAsync": ("MEMORY", "dptr"),
    "cuMemFreeHost": ("MEMORY", "p"),
    "cuMemHostUnregister": ("MEMORY", "p"),
    "cuIpcCloseMemHandle": ("MEMORY", "dptr"),
    "cuArrayDestroy": ("ARRAY", "hArray"),
    "cuMipmappedArrayDestroy": ("ARRAY", "hMipmappedArray"),
    "cuMemAddressFree": ("ADDRESSES", "ptr"),
    "cuMemRelease": ("HANDLE", "handle"),
    "cuMemPoolDestroy": ("POOL", "pool"),
}
UNMAPS = {"cuMemUnmap": ("ptr", "ptr + size")}


def ledger(symbol):
    """What the export does for the ledger: before the call, and after it."""
    if symbol in GIVES:
        kind, name, *size = GIVES[symbol]
        return "", f"    if (api_ledger() && !r) api_given(LEDGER_{kind}, (uint64_t){name}, {size[0] if size else 0});\n"
    if symbol in TAKES:
        kind, name = TAKES[symbol]
        return (
            "    struct ledger_entry entry;\n"
            f"    const bool taken = api_ledger() && ledger_take(LEDGER_{kind}, (uint64_t){name}, &entry);\n",
            "    if (taken && r) ledger_restore(&entry);\n",
        )
    if symbol in UNMAPS:
        first, end = UNMAPS[symbol]
        return "", f"    if (api_ledger() && !r) ledger_unmapped({first}, {end});\n"
    return "", ""


def export(entry, suffix):
    name = entry.symbol + suffix
    defers = entry.symbol not in UNCANCELLED
    before, after = ledger(entry.symbol)
    begin = ("    const int cancel = cancel_defer();\n" if defers else "") + before
    end = after + ("    cancel_restore(cancel);\n" if defers else "")
    params = "void" if entry.header else entry.params
    args = "" if entry.header else ", ".join(n for _, n in parameters(entry))
    return (
        f'CUresult CUDAAPI export_{name}({params}) __asm__("{name}");\n'
        f"CUresult CUDAAPI export_{name}({params})\n{{\n{begin}"
        f"    CUresult r = {name}({args});\n{end}"
        f'    return __builtin_expect(r, CUDA_SUCCESS) ? api_failed("{name}", r) : r;\n}}\n'
    )


def signature(entry, suffix=""):
    return f"CUresult CUDAAPI {entry.symbol}{suffix}({'void' if entry.header else entry.params})"


def stub(entry, suffix=""):
    return (
        f"{signature(entry, suffix)}\n{{\n    static _Atomic bool said;\n"
        f'    return api_not_supported("{entry.symbol}", &said);\n}}\n'
    )


def call(symbol, args):
    return f"{symbol}({', '.join(args)})"


def per_thread_wrapper(entry):
    params = parameters(entry)
    name = signature(entry, "_" + entry.variant)
    if any(t == "CUstream" for t, _ in params):
        args = [f"per_thread({n})" if t == "CUstream" else n for t, n in params]
        return f"{name}\n{{\n    return {call(entry.symbol, args)};\n}}\n"
    return (
        f"{name}\n{{\n    bool before = stream_default_per_thread;\n    stream_default_per_thread = true;\n"
        f"    CUresult r = {call(entry.symbol, [n for _, n in params])};\n"
        f"    stream_default_per_thread = before;\n    return r;\n}}\n"
    )


def make_code(table):
    out = [textwrap.dedent("""\
        /* Written by src/api/generate.py. */
        #include "api/api.h"
        #include "base/cancel.h"
        #include "stream/stream.h"

        #pragma GCC diagnostic ignored "-Wunused-parameter"

        static CUstream per_thread(CUstream s)
        {
            return s ? s : CU_STREAM_PER_THREAD;
        }
        """)]
    for e in table.entries:
        if e.symbol not in table.defined:
            newer = table.forward(e)
            if newer:
                out.append(f"{signature(e)}\n{{\n    return {call(newer.symbol, [n for _, n in parameters(e)])};\n}}\n")
            else:
                out.append(stub(e))
        if e.variant and f"{e.symbol}_{e.variant}" not in table.defined:
            out.append(stub(e, "_" + e.variant) if e.header else per_thread_wrapper(e))
    out.append("#pragma GCC visibility push(default)\n")
    out += [export(e, suffix) for e, suffix in symbols(table.entries)]
    rows = []
    for e in sorted(table.entries, key=lambda e: (base_name(e.symbol), e.since)):
        variant = f"(void *)export_{e.symbol}_{e.variant}" if e.variant else "NULL"
        rows.append(
            f'    {{ "{base_name(e.symbol)}", {e.since}, {e.since_pt}, {str(table.implemented(e)).lower()}, '
            f"(void *)export_{e.symbol}, {variant} }},"
        )
    out.append("#pragma GCC visibility pop\n")
    out.append("const struct entry_point entry_points[] = {\n" + "\n".join(rows) + "\n};")
    out.append("const size_t entry_point_count = sizeof entry_points / sizeof *entry_points;\n")
    return "\n".join(out)


# ---- cuda.h


def prototype(name, params):
    """Breaks long lines between parameters."""
    lines = [f"CUresult CUDAAPI {name}("]
    indent = " " * 4
    pieces = [p + ", " for p in params.split(", ")]
    pieces[-1] = pieces[-1][:-2] + ");"
    for piece in pieces:
        if len(lines[-1] + piece) > 111:
            lines.append(indent)
        lines[-1] += piece
    return "\n".join(line.rstrip() for line in lines)


def make_header(table):
    entries = [e for e in table.entries if not e.header]
    renamed = []
    for e in entries:
        if e.name and e.variant:
            renamed.append((e.name, f"__CUDA_API_{e.variant.upper()}({e.symbol})"))
        elif e.name and e.name != e.symbol:
            renamed.append((e.name, e.symbol))
    out = ["", "/* The ABI version that a name stands for. */"]
    out += [f"#define {name:<38} {target}" for name, target in renamed]
    chapter = None
    for e in entries:
        if e.name:
            if e.chapter != chapter:
                chapter = e.chapter
                out += ["", f"/* ---- {chapter} ---- */"]
            if e.summary:
                out += ["\n".join(textwrap.wrap(f"/* {e.summary} */", 110, subsequent_indent=" * "))]
            out.append(prototype(e.name, e.params))
    out += ["", "#ifdef __CUDA_API_VERSION_INTERNAL", "/* Every other symbol, each under its own name. */"]
    out += [f"#undef {name}" for name, _ in renamed]
    out.append("")
    for e in entries:
        if not e.name or e.variant or e.name != e.symbol:
            if not e.name or e.variant:
                out.append(prototype(e.symbol, e.params))
            if not e.name and e.variant:
                out.append(prototype(f"{e.symbol}_{e.variant}", e.params))
    return "\n".join(out + ["#endif", ""])


# ---- README.md


def make_readme(table):
    chapters = {}
    for e in table.entries:
        if e.name:
            chapters.setdefault(e.chapter, []).append(e)

    def works(e):
        return table.implemented(e) and "always CUDA_ERROR_NOT_SUPPORTED" not in (e.summary or "")

    total = [e for es in chapters.values() for e in es]
    done = sum(works(e) for e in total)
    out = [
        "",
        f"{done} of {len(total)} entry points of the driver API are implemented; "
        "the others answer `CUDA_ERROR_NOT_SUPPORTED`.",
        "",
        "| chapter of the driver API manual | implemented | not yet |",
        "|---|---|---|",
    ]
    for chapter, es in chapters.items():
        missing = [f"`{e.name}`" for e in es if not works(e)]
        have = len(es) - len(missing)
        text = (
            ""
            if not missing
            else (
                "all of it" if not have else ", ".join(missing) if len(missing) <= 8 else f"{len(missing)} entry points"
            )
        )
        out.append(f"| {chapter} | {have} of {len(es)} | {text} |")
    return "\n".join(out + ["", ""])


BEGIN, END = "generated from src/api/entrypoints.txt", "end of the generated part"


def main():
    args = [a for a in sys.argv[1:] if a != "--check"]
    check = "--check" in sys.argv
    what, path, out, sources = args[0], args[1], args[2], args[3:]
    table = Table(path, sources)
    remedy = f"run ninja update-{what} in the build folder"
    if what == "map":
        open(out, "w").write(make_map(table))
    elif what == "names":
        open(out, "w").write(make_names(table))
    elif what == "code":
        open(out, "w").write(make_code(table))
    elif what == "header":
        update(out, BEGIN, END, make_header(table), check, remedy)
    elif what == "readme":
        update(out, BEGIN, END, make_readme(table), check, remedy)
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
