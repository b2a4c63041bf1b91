# SPDX-License-Identifier: Apache-2.0
"""Manual pages as mandoc likes them."""
import re

import style


def problems(root, files):
    for path in files:
        if re.search(r"\.[1-8]$", path) and path.startswith(("docs/", "man/")):
            _, out = style.tool("mandoc", "-T", "lint", "-W", "warning", path, root=root)
            yield from out.strip().splitlines()


PAGE = """.Dd January 1, 2026
.Dt X 1
.Os
.Sh NAME
.Nm x
.Nd does it
.Sh DESCRIPTION
Text.
"""

style.run(
    problems,
    bad=[("WARNING", {"docs/x.1": PAGE.replace(".Nd does it\n", "")})],
    good=[{"docs/x.1": PAGE}],
    needs=["mandoc"],
)
