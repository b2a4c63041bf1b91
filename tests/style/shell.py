# SPDX-License-Identifier: Apache-2.0
"""Scripts without shellcheck's findings."""
import style


def problems(root, files):
    for path in files:
        if style.is_c(path) or path.endswith((".py", ".md", ".csv", ".yaml")):
            continue
        first = style.read(root, path).split("\n", 1)[0]
        if path.endswith(".sh") or first.startswith("#!") and first.endswith("sh"):
            status, out = style.tool("shellcheck", "--format=gcc", path, root=root)
            if status != 0:
                yield out.strip()


style.run(
    problems,
    bad=[
        ("SC2086", {"x.sh": "#!/bin/sh\nrm $1\n"}),
        ("SC2086", {"tool": "#!/usr/bin/env bash\nrm $1\n"}),
    ],
    good=[{"x.sh": '#!/bin/sh\nrm "$1"\n', "y.md": "rm $1\n"}],
    needs=["shellcheck"],
)
