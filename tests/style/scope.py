# SPDX-License-Identifier: Apache-2.0
"""The name tells the scope: what objects export is chorus_, chorusx_, ch_ or CH_, and what only
one object uses is static."""
import re

import style

ARCHIVE = "libchorus_inside.a"
PUBLIC = re.compile(r"^(chorus|chorusx|CHORUS)_")
OURS = re.compile(r"^(chorus|chorusx|ch|CH)_")
SYMBOL = re.compile(r"^(.*\.o):(?:[0-9a-f]+)? +([A-Za-z]) (\S+)$", re.M)


def symbols(objects, root):
    """Object -> (global symbols it defines, symbols it wants)."""
    _, out = style.tool("nm", "-A", "--no-sort", *objects, root=root)
    table = {str(o): (set(), set()) for o in objects}
    for where, kind, name in SYMBOL.findall(out):
        if kind in "TDBRCVW":
            table[where][0].add(name)
        elif kind in "Uvw":
            table[where][1].add(name)
    return table


def compiled(root, files):
    for path in files:
        style.tool("cc", "-c", "-fno-common", path, "-o", path + ".o", root=root)
    return [f + ".o" for f in files]


def problems(root, files):
    if root == style.ROOT:
        root = style.BUILD
        objects = sorted(str(p.relative_to(root)) for p in root.glob("**/*.o"))
    else:
        objects = compiled(root, files)
    library = f"{ARCHIVE}.p/"
    table = symbols(objects, root)
    for where, (defined, _) in table.items():
        if root == style.BUILD and not where.startswith(library):
            continue
        if where.endswith("driver_cuda.c.o"):  # NVTX's headers define what they need
            continue
        for name in sorted(defined):
            if not OURS.match(name):
                yield f"{where}: {name} is global; make it static, or name it ch_..."
            elif not PUBLIC.match(name) and not any(
                    name in wanted for other, (_, wanted) in table.items() if other != where):
                yield f"{where}: only this object uses {name}; make it static"


style.run(
    problems,
    bad=[
        ("helper is global", {"x.c": "int helper(void) { return 1; }\n"}),
        ("counter is global", {"x.c": "int counter;\n"}),
        ("only this object uses ch_x", {"x.c": "int ch_x(void) { return 1; }\n", "y.c": "int chorus_y;\n"}),
    ],
    good=[{"x.c": "int ch_x(void) { return 1; }\nstatic int y;\nint chorus_z(void) { return y; }\n",
           "y.c": "int ch_x(void);\nint chorus_y(void) { return ch_x(); }\n"}],
    needs=["nm", "cc"],
)
