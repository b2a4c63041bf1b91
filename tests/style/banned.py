# SPDX-License-Identifier: Apache-2.0
"""The library never prints nor ends the process; names say what they count; names of variables come from their list."""
import re

import style

CALLS = {
    "printf": "CH_LOG, or CH_FAIL and a code",
    "vprintf": "CH_LOG, or CH_FAIL and a code",
    "puts": "CH_LOG, or CH_FAIL and a code",
    "putchar": "CH_LOG, or CH_FAIL and a code",
    "perror": "CH_FAIL with strerror(errno)",
    "exit": "CH_FAIL; only the error handler ends the job",
    "_exit": "CH_FAIL; only the error handler ends the job",
    "abort": "CH_FAIL; assert for our own bugs",
    "strcpy": "snprintf, or memcpy with a bound",
    "strcat": "snprintf",
    "sprintf": "snprintf",
    "vsprintf": "vsnprintf",
    "atoi": "ch_number_whole",
    "strtol": "ch_number_whole",
    "strtoul": "ch_number_whole",
    "strtoll": "ch_number_whole",
    "strtoull": "ch_number_whole or ch_number_bytes",
    "strtod": "ch_number_seconds",
    "getenv": "secure_getenv",
    "strtok": "strcspn and strspn",
    "alloca": "an array of a fixed bound, or malloc",
}
NAMES = {
    "size": "bytes or count",
    "len": "bytes or count",
    "tmp2": "a name that says what it holds",
    "flag2": "a name that says what it holds",
}
# The one file that may speak and end the process: the default error handler.
HANDLER = "src/api/report.c"

CALL = re.compile(r"(?<![\w.>])(" + "|".join(CALLS) + r")\s*\(")
# A member of somebody else's struct may be called anything.
NAME = re.compile(r"(?<![\w.])(?<!->)(" + "|".join(NAMES) + r")\b")
# libchorus-shmem has the public API alone.
ALONE = "src/compat/"
VARIABLE = re.compile(r'(?<!\w)(?:secure_getenv|getenv|setenv|unsetenv)\s*\(\s*"(CHORUS_\w+)"')


def literal_variables(root, files):
    for path in files:
        if not path.startswith(("src/", "tools/")) or path.startswith(ALONE) or not style.is_c(path):
            continue
        text = style.blank(style.read(root, path), strings=False)
        for match in VARIABLE.finditer(text):
            yield (f"{path}:{style.line_of(text, match.start())}: \"{match.group(1)}\"; say ch_variable_get or "
                   "ch_variable_name, which take it from CH_VARIABLE_LIST")


def problems(root, files):
    yield from literal_variables(root, files)
    for path in files:
        if not path.startswith("src/") or not style.is_c(path):
            continue
        text = style.blank(style.read(root, path))
        for pattern, instead in ((CALL, CALLS), (NAME, NAMES)):
            if pattern is CALL and path == HANDLER:
                continue
            for match in pattern.finditer(text):
                word = match.group(1)
                yield f"{path}:{style.line_of(text, match.start())}: {word}; say {instead[word]}"


style.run(
    problems,
    bad=[
        ("printf; say CH_LOG", {"src/base/x.c": "void f(void) { printf(text); }\n"}),
        ("x.c:2: exit;", {"src/base/x.c": "/* exit(1) */\nvoid f(void) { exit (1); }\n"}),
        ("size; say bytes", {"src/base/x.h": "struct x { int size; };\n"}),
        ("getenv; say secure_getenv", {"src/base/x.c": "void f(void) { getenv(name); }\n"}),
        ("strtoull; say ch_number", {"src/base/x.c": "void f(void) { strtoull(text, &end, 0); }\n"}),
        ('x.c:1: "CHORUS_PORT"; say ch_variable_get', {"tools/x.c": 'char *p = getenv("CHORUS_PORT");\n'}),
        ('x.c:2: "CHORUS_PORT"', {"src/boot/x.c": 'void f(void) {\n(void)setenv("CHORUS_PORT", "1", 1); }\n'}),
        ("abort;", {"src/base/x.c": "void f(void) { (abort)(); abort(); }\n"}),
    ],
    good=[
        {"src/base/x.c": "int f(void) { return g(\"exit(1)\", sizeof(x), v.len, v->size); }\n"},
        {"src/base/x.c": "void f(void) { secure_getenv(name); }\n"},
        {"src/api/report.c": "void f(void) { fprintf(stderr, text); exit(1); }\n"},
        {"src/base/x.h": "void f(const char *, ...) __attribute__((format(printf, 1, 2)));\n"},
        {"src/compat/x.c": "char *p = secure_getenv(\"CHORUS_LOG\");\n"},
        {"src/boot/x.c": "char *p = secure_getenv(\"RANK\"), *q = \"CHORUS_PORT\";\n"},
        {"tests/x.c": "void f(void) { printf(text); }\n"},
    ],
)
