#!/usr/bin/env python3
"""Writes profile_data.h: the default profile's text and the names of device
attributes. usage: embed.py cuda.h h200.ini OUT"""
import re
import sys

header, profile, out = sys.argv[1:]
body = re.search(r"typedef enum CUdevice_attribute_enum \{(.*?)\} CUdevice_attribute", open(header).read(), re.S).group(1)
text = open(profile).read()
with open(out, "w") as f:
    f.write("static const struct { const char *name; int number; } attribute_names[] = {\n")
    for name, number in re.findall(r"CU_DEVICE_ATTRIBUTE_(\w+)\s*=\s*(\d+)", body):
        f.write(f'    {{ "{name.lower()}", {number} }},\n')
    f.write("};\nstatic const char default_profile[] =\n")
    for line in text.splitlines():
        escaped = line.replace("\\", "\\\\").replace('"', '\\"')
        f.write(f'    "{escaped}\\n"\n')
    f.write("    ;\n")
