/* SPDX-License-Identifier: Apache-2.0 */
/* The rule tables that are compiled in, as bytes: ch_shipped_NAME up to ch_shipped_NAME_end. */

.macro shipped name, path
    .globl ch_shipped_\name
    .hidden ch_shipped_\name
    .globl ch_shipped_\name\()_end
    .hidden ch_shipped_\name\()_end
ch_shipped_\name:
    .incbin "\path"
ch_shipped_\name\()_end:
    .byte 0
.endm

    .section .rodata
    shipped host, host.yaml
    shipped builtin, builtin.yaml

    .section .note.GNU-stack, "", %progbits
