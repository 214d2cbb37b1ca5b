#!/usr/bin/env python3
"""Writes profile_data.h: the texts of the profiles that need no file and the names of device
attributes. usage: embed.py cuda.h OUT PROFILE.ini..."""

import os
import re
import sys

header, out, profiles = sys.argv[1], sys.argv[2], sys.argv[3:]
body = re.search(r"typedef enum CUdevice_attribute_enum \{(.*?)\} CUdevice_attribute", open(header).read(), re.S).group(
    1
)
with open(out, "w") as f:
    f.write("static const struct { const char *name; int number; } attribute_names[] = {\n")
    for name, number in re.findall(r"CU_DEVICE_ATTRIBUTE_(\w+)\s*=\s*(\d+)", body):
        f.write(f'    {{ "{name.lower()}", {number} }},\n')
    f.write("};\nstatic const struct { const char *name, *text; } built_in[] = {\n")
    for profile in profiles:
        f.write(f'    {{ "{os.path.splitext(os.path.basename(profile))[0]}",\n')
        for line in open(profile).read().splitlines():
            escaped = line.replace("\\", "\\\\").replace('"', '\\"')
            f.write(f'      "{escaped}\\n"\n')
        f.write("    },\n")
    f.write("};\n")
