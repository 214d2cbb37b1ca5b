#!/usr/bin/env python3
"""Compares our cuda.h or cuda_runtime_api.h with NVIDIA's, where it is
installed: every enumeration value, macro, structure layout, type and
prototype. usage: headers.py OUR_HEADER
Exit status 77 (skipped) where NVIDIA's header of the same version is missing."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import typing

CC = os.environ.get("CC", "cc").split()
MODES = {
    "as programs see it": [],
    "with per-thread default streams": ["-DCUDA_API_PER_THREAD_DEFAULT_STREAM"],
    "with every ABI version": ["-D__CUDA_API_VERSION_INTERNAL"],
}


class Api(typing.NamedTuple):
    """What of a header is compared, as regular expressions."""

    version: str  # the macro that says it
    macro: str
    number: str  # the value of a macro that is one
    function: str
    result: str
    type: str
    modes: list
    beside: list = []  # other headers that are compared with it


VECTOR = r"u?(char|short|int|long|longlong)[1-4]|(float|double)[1-4]|u?(long|longlong|double)4_\d+a|dim3"
APIS = {
    "cuda.h": Api("CUDA_VERSION", r"CU\w+", r"[\d(-]|CU_", r"cu\w+", "CUresult", r"(CU|cuuint|cl_)\w*", list(MODES),
                  ["cudaProfiler.h"]),
    "cuda_runtime_api.h": Api(
        "CUDART_VERSION",
        r"(?:cuda|CUDA)\w+",
        r"[\d(-]|cudaLaunchAttribute(?!ID|Value)",
        r"cuda[A-Z]\w+",
        r"(?!return\b)[\w ]+[ *]",
        rf"(cuda|CU)\w*|{VECTOR}",
        list(MODES)[:2],
        ["cuda_profiler_api.h"],
    ),
}


def find_vendor(name="cuda.h"):
    nvcc = shutil.which("nvcc")
    for root in (
        os.environ.get("CUDA_HOME"),
        os.environ.get("CUDA_PATH"),
        nvcc and os.path.dirname(os.path.dirname(nvcc)),
        "/usr/local/cuda",
    ):
        path = root and os.path.join(root, "include", name)
        if path and os.path.exists(path):
            return path
    return None


def skip(why):
    print("SKIP: " + why)
    sys.exit(77)


class Header:
    """The declarations of a header, by name, as the preprocessor leaves them."""

    def __init__(self, path, api, flags):
        self.path, self.api, self.flags = path, api, [*flags, "-I", os.path.dirname(path)]
        lines = self.preprocess(["-dD"]).split("\n")
        self.macros = {}
        for line in lines:
            m = re.match(rf"#define ({api.macro})(?: (.*))?$", line)
            if m and m.group(2):
                self.macros[m.group(1)] = m.group(2)
        text = re.sub(r"\b__attribute__\s*\(\([^;{}]*?\)\)(?!\))", "", self.preprocess(["-P"]))
        self.constants, self.types, self.prototypes = [], {}, {}
        for m in re.finditer(r"\benum\s*\w*\s*\{([^}]*)\}", text):
            self.constants += [c.partition("=")[0].strip() for c in m.group(1).split(",") if c.strip()]
        for m in re.finditer(rf"\b({api.result})\s*\b({api.function})\s*\(([^;{{]*?)\)\s*;", text):
            result = self.type_only(m.group(1).replace("extern ", "") + " result")
            self.prototypes[m.group(2)] = [result] + [self.type_only(p) for p in m.group(3).split(",")]
        self.read_types(text)

    def preprocess(self, more):
        return subprocess.run(
            [*CC, "-E", *more, *self.flags, self.path], capture_output=True, text=True, check=True
        ).stdout

    @staticmethod
    def type_only(parameter):
        """'const void *srcHost' -> 'const void*'"""
        words = re.findall(r"\w+|\*|\[[^]]*\]", parameter)
        if len(words) > 1 and re.match(r"\w", words[-1]) and words[-1] not in ("int", "unsigned", "char", "long"):
            words.pop()
        text = " ".join(words).replace(" *", "*")
        return re.sub(r"\bunsigned\b(?! (int|char|short|long))", "unsigned int", text)

    def read_types(self, text):
        at = 0
        while True:
            m = re.compile(r"\btypedef\b|^(?:struct|union)\s+\w+\s*(?=\{)", re.M).search(text, at)
            if not m:
                return
            depth, end = 0, m.end()
            while depth or text[end] != ";":
                depth += (text[end] == "{") - (text[end] == "}")
                end += 1
            declaration, at = text[m.start() : end], end
            declared = re.match(r"(?:typedef\s+)?((?:struct|union)\s*\w*)\s*\{(.*)\}", declaration, re.S)
            function = re.search(r"\(\s*\*\s*(\w+)\s*\)", declaration)
            plain = re.search(r"(\w+)\s*$", declaration)
            names = [" ".join(declared.group(1).split())] if declared else []
            if m.group() == "typedef":
                names.append(function.group(1) if function else plain.group(1) if plain else "")
            for name in names:
                if re.fullmatch(self.api.type, name.split(" ")[-1]):
                    self.types[name] = list(self.members(declared.group(2), "")) if declared else []

    def members(self, body, prefix):
        at = 0
        while body[at:].strip():
            end, depth = at, 0
            while depth or body[end] != ";":
                depth += (body[end] == "{") - (body[end] == "}")
                end += 1
            member, at = body[at:end], end + 1
            nested = re.match(r"\s*(?:struct|union)\s*\w*\s*\{(.*)\}\s*(\w*)\s*$", member, re.S)
            if not nested:
                yield prefix + re.search(r"(\w+)\s*(?:\[[^;]*\])*\s*$", re.sub(r"\[.*", "", member, flags=re.S)).group(
                    1
                )
            else:
                if nested.group(2):
                    yield prefix + nested.group(2)
                yield from self.members(nested.group(1), prefix + nested.group(2) + "." if nested.group(2) else prefix)

    def facts(self, reference):
        """Compiles and runs a program that prints the values and layouts of what reference declares."""
        out = [f'#include "{self.path}"', "#include <stdio.h>", "#include <stddef.h>", "int main(void) {"]
        for c in reference.constants:
            out.append(f'printf("{c} = %lld\\n", (long long){c});')
        for t, members in reference.types.items():
            out.append(f'printf("sizeof {t} = %zu, alignment %zu\\n", sizeof({t}), _Alignof({t}));')
            for m in members:
                out.append(f'printf("{t}.{m} at %zu, size %zu\\n", offsetof({t}, {m}), sizeof((({t} *)0)->{m}));')
        for name, value in reference.macros.items():
            if re.match(reference.api.number, value):
                out.append(f'printf("{name} = %lld\\n", (long long){name});')
        out.append("return 0; }")
        with tempfile.TemporaryDirectory() as d:
            source, program = os.path.join(d, "facts.c"), os.path.join(d, "facts")
            open(source, "w").write("\n".join(out))
            subprocess.run([*CC, "-std=gnu17", "-w", *self.flags, "-o", program, source], check=True)
            return subprocess.run([program], capture_output=True, text=True, check=True).stdout.splitlines()


def missing(what, theirs, ours):
    return [f"{what} {n}: missing" for n in theirs if n not in ours] + [
        f"{what} {n}: not in NVIDIA's header" for n in ours if n not in theirs
    ]


def compare(ours, theirs):
    wrong = missing("constant", theirs.constants, ours.constants)
    wrong += missing("type", theirs.types, ours.types)
    wrong += missing("entry point", theirs.prototypes, ours.prototypes)
    wrong += [f"macro {n}: missing" for n in theirs.macros if n not in ours.macros]
    if wrong:
        return wrong
    for n, p in theirs.prototypes.items():
        if p != ours.prototypes[n]:
            wrong.append(f"{n}: {', '.join(ours.prototypes[n])} should be {', '.join(p)}")
    for n, value in theirs.macros.items():
        if re.fullmatch(r"[A-Za-z]\w*", value) and value != ours.macros[n]:
            wrong.append(f"macro {n}: {ours.macros[n]} should be {value}")
    wrong += [f"{a}; should be {b}" for a, b in zip(ours.facts(theirs), theirs.facts(theirs)) if a != b]
    return wrong


def main():
    path = os.path.abspath(sys.argv[1])
    api = APIS[os.path.basename(path)]
    vendor = find_vendor(os.path.basename(path))
    if not vendor:
        skip(f"NVIDIA's {os.path.basename(path)} is not installed (looked at CUDA_HOME, nvcc and /usr/local/cuda)")
    version = re.search(rf"#define {api.version}\s+(\d+)", open(vendor, errors="replace").read()).group(1)
    if version != "13000":
        skip(f"{vendor} is of CUDA {version}, not 13000")
    failed = False
    for mode in api.modes:
        beside = [word for name in api.beside for word in ("-include", name)]
        ours, theirs = (Header(header, api, MODES[mode] + beside) for header in (path, vendor))
        wrong = compare(ours, theirs)
        failed = failed or bool(wrong)
        for line in wrong[:40]:
            print(line)
        print(
            f"{mode}: {len(theirs.constants)} constants, {len(theirs.types)} types, {len(theirs.macros)} macros, "
            f"{len(theirs.prototypes)} prototypes compared, {len(wrong)} differ"
        )
    sys.exit(failed)


if __name__ == "__main__":
    main()
