#!/usr/bin/env python3
"""Makes what follows from include/cuda_runtime_api.h, the table of the runtime's entry points.

usage: generate.py map HEADER ELSEWHERE OUT [TWELVE]         the linker's list of exported symbols
       generate.py names HEADER OUT                         the names that the library's own sources are compiled under
       generate.py code HEADER ELSEWHERE OUT SOURCE...      per-thread forms and stubs, which both libraries have
       generate.py exports HEADER OUT [TWELVE SOURCE...]    the exported functions
       generate.py readme HEADER README SOURCE...           rewrites the runtime's support table of README.md
With --check, readme changes nothing and fails if the file is out of date.
ELSEWHERE: names of entry points that other headers declare; all of them are stubs.
TWELVE: twelve.h, for libcudart.so.12. Without it, what is made is libcudart.so.13's.
"""

import os
import re
import sys
from collections import namedtuple

sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from generated_part import update

Entry = namedtuple("Entry", "chapter result name variant params")

# these tell of the last error; they do not set it
TELLS_ERRORS = ("cudaGetLastError", "cudaPeekAtLastError")


def read_header(path):
    text = open(path).read()
    variants = dict(re.findall(r"^#define (\w+) +\1_(pt[sd][zs])$", text, re.M))
    chapters = [(m.start(), m.group(1)) for m in re.finditer(r"^/\* ---- (.*) ---- \*/$", text, re.M)]
    entries = []
    for m in re.finditer(r"^(\w[\w \*]*?)\s*\bCUDARTAPI (\w+)\(([^;]*)\);", text, re.M):
        params = re.sub(r"\s*CUDART_DEFAULT\([^)]*\)", "", " ".join(m.group(3).split()))
        chapter = [name for at, name in chapters if at < m.start()][-1]
        entries.append(Entry(chapter, m.group(1), m.group(2), variants.pop(m.group(2), None), params))
    if variants:
        sys.exit(f"{path}: per-thread forms of what is not declared: {', '.join(variants)}")
    return entries


def parameters(entry):
    """[(type, name)], empty for (void)."""
    out = []
    for p in [] if entry.params == "void" else entry.params.split(", "):
        m = re.match(r"(.*?)(\w+)((?:\[\d*\])?)$", p)
        out.append((m.group(1).strip(), m.group(2)))
    return out


def definitions(sources):
    found = set()
    for path in sources:
        found.update(re.findall(r"^\w[\w \*]*\bCUDARTAPI (\w+)\(", open(path).read(), re.M))
    return found


def symbols(entries):
    for e in entries:
        yield e, e.name
        if e.variant:
            yield e, f"{e.name}_{e.variant}"


def thirteen(entries):
    """{name: entry} of the functions that libcudart.so.13 exports."""
    return {e.name: e for e in entries}


def poisoned(path):
    return [name for names in re.findall(r"^#pragma GCC poison (.*)$", open(path).read(), re.M) for name in names.split()]


def twelve(entries, path):
    """The same of libcudart.so.12; see twelve.h."""
    text = open(path).read()
    out = {e.name: e for e in entries if e.name not in poisoned(path)}
    for name, other in re.findall(r"^#define (cuda\w+) (cuda\w+)$", text, re.M):
        out[name] = thirteen(entries)[other]
    for e in read_header(path):
        name = e.name.removesuffix("_12")
        like = out.get(name) or out.get(re.sub(r"_v\d$", "", name))
        out[name] = e._replace(variant=like and like.variant)
    return out


def make_map(library, exported, elsewhere, hidden):
    names = set(exported) | {f"{name}_{e.variant}" for name, e in exported.items() if e.variant} | set(elsewhere)
    seen = [f"    {name};" for name in ["__cuda*", *sorted(names.difference(hidden))]]
    return "\n".join([library + " {", "global:", *seen, "local:", *[f"    {name};" for name in [*hidden, "*"]], "};", ""])


def make_names(entries):
    lines = ["/* Written by src/runtime/generate.py. */"]
    lines += [f"#pragma redefine_extname {name} impl_{name}" for _, name in symbols(entries)]
    return "\n".join([*lines, "#include <cuda_runtime_api.h>", ""])


def call(entry, change=lambda type, name: name):
    return f"{entry.name}({', '.join(change(t, n) for t, n in parameters(entry))})"


def per_thread_form(entry):
    head = f"{entry.result} CUDARTAPI {entry.name}_{entry.variant}({entry.params})"
    if any(t == "cudaStream_t" for t, _ in parameters(entry)):
        body = "return " + call(entry, lambda t, n: f"{n} ? {n} : cudaStreamPerThread" if t == "cudaStream_t" else n)
        return f"{head};\n{head}\n{{\n    {body};\n}}\n"
    return (
        f"{head};\n{head}\n{{\n    bool before = runtime_per_thread;\n    runtime_per_thread = true;\n"
        f"    {entry.result} r = {call(entry)};\n    runtime_per_thread = before;\n    return r;\n}}\n"
    )


def stub(entry, kept=False):
    """kept: nobody else keeps the error as the last one."""
    answer = f'runtime_not_supported("{entry.name}", &said)'
    return (
        f"{entry.result} CUDARTAPI {entry.name}({entry.params})\n{{\n    static _Atomic(bool) said;\n"
        f"    return {f'runtime_failed({answer})' if kept else answer};\n}}\n"
    )


def export(entry, name, function):
    args = ", ".join(n for _, n in parameters(entry))
    head = f"{entry.result} CUDARTAPI export_{name}({entry.params})"
    returned = f"{entry.result} r = {function}({args});\n    return r ? runtime_failed(r) : r;"
    if entry.result != "cudaError_t" or name in TELLS_ERRORS:
        returned = f"return {function}({args});"
    if name in TELLS_ERRORS:
        returned = f"runtime_asks(__builtin_return_address(0));\n    {returned}"
    return f'{head} __asm__("{name}");\n{head}\n{{\n    {returned}\n}}\n'


HEAD = ["/* Written by src/runtime/generate.py. */", '#include "runtime/runtime.h"']


def missing(entries, defined):
    """Stubs of what nobody defines, and per-thread forms."""
    out = []
    for e in entries:
        if e.name not in defined:
            if e.result != "cudaError_t":
                sys.exit(f"{e.name} has to be defined: it cannot answer cudaErrorNotSupported")
            out.append(stub(e))
        if e.variant:
            out.append(per_thread_form(e))
    return out


def make_code(entries, elsewhere, defined):
    out = [*HEAD, '\n#pragma GCC diagnostic ignored "-Wunused-parameter"\n', "_Thread_local bool runtime_per_thread;\n"]
    out += missing(entries, defined)
    out.append("#pragma GCC visibility push(default)\n")
    for name in elsewhere:
        e = Entry(None, "cudaError_t", f"stub_{name}", None, "void")
        out.append(f'cudaError_t CUDARTAPI stub_{name}(void) __asm__("{name}");\n' + stub(e, True).replace('"stub_', '"'))
    return "\n".join(out)


def make_exports(exported, version, include, own, defined):
    out = [*HEAD, *include, '\n#pragma GCC diagnostic ignored "-Wunused-parameter"\n']
    out.append(f"const int runtime_version = {version};\n")
    out += missing(own, defined)
    out.append("#pragma GCC visibility push(default)\n")
    for name, e in exported.items():
        out.append(export(e, name, e.name))
        if e.variant:
            function = f"{e.name}_{e.variant}"
            out.append(f"{e.result} CUDARTAPI {function}({e.params});")
            out.append(export(e, f"{name}_{e.variant}", function))
    return "\n".join(out)


def make_readme(entries, defined):
    chapters = {}
    for e in entries:
        chapters.setdefault(e.chapter, []).append(e)
    done = sum(e.name in defined for e in entries)
    out = [
        "",
        f"{done} of {len(entries)} entry points of the runtime API are implemented; "
        "the others answer `cudaErrorNotSupported`.",
        "",
        "| chapter of the runtime API manual | implemented | not yet |",
        "|---|---|---|",
    ]
    for chapter, es in chapters.items():
        missing = [f"`{e.name}`" for e in es if e.name not in defined]
        have = len(es) - len(missing)
        text = ", ".join(missing) if len(missing) <= 8 else f"{len(missing)} entry points"
        out.append(f"| {chapter} | {have} of {len(es)} | {text if have or not missing else 'all of it'} |")
    return "\n".join([*out, "", ""])


BEGIN, END = "generated from include/cuda_runtime_api.h", "end of the part from cuda_runtime_api.h"
REMEDY = "run ninja update-runtime-readme in the build folder"


def main():
    args = [a for a in sys.argv[1:] if a != "--check"]
    what, entries = args[0], read_header(args[1])
    if what == "map":
        library = ("libcudart.so.13", thirteen(entries), [])
        if len(args) > 4:
            library = ("libcudart.so.12", twelve(entries, args[4]), poisoned(args[4]))
        name, exported, hidden = library
        open(args[3], "w").write(make_map(name, exported, open(args[2]).read().split(), hidden))
    elif what == "names":
        open(args[2], "w").write(make_names(entries))
    elif what == "code":
        open(args[3], "w").write(make_code(entries, open(args[2]).read().split(), definitions(args[4:])))
    elif what == "exports" and len(args) == 3:
        open(args[2], "w").write(make_exports(thirteen(entries), "CUDART_VERSION", [], [], []))
    elif what == "exports":
        exported = twelve(entries, args[3])
        own = [e for e in exported.values() if e not in entries]
        include = ['#include "runtime/twelve.h"']
        code = make_exports(exported, "RUNTIME_VERSION_12", include, own, definitions(args[4:]))
        open(args[2], "w").write(code)
    elif what == "readme":
        update(args[2], BEGIN, END, make_readme(entries, definitions(args[3:])), "--check" in sys.argv, REMEDY)
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
