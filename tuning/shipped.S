/* SPDX-License-Identifier: Apache-2.0 */
/* The rule tables that are compiled in: the bytes ch_shipped_NAME, ch_shipped_NAME_bytes of them. */

.macro shipped name, path
    .globl ch_shipped_\name
    .hidden ch_shipped_\name
    .globl ch_shipped_\name\()_bytes
    .hidden ch_shipped_\name\()_bytes
    .balign 8
ch_shipped_\name\()_bytes:
    .quad 1f - ch_shipped_\name
ch_shipped_\name:
    .incbin "\path"
1:
.endm

    .section .rodata
    shipped host, host.yaml
    shipped host_own, host_own.yaml
    shipped h200x2, h200x2.yaml
    shipped h200x4, h200x4.yaml
    shipped network_own, network_own.yaml
    shipped network, network.yaml
    shipped builtin, builtin.yaml
    shipped elsewhere, elsewhere.yaml

    .section .note.GNU-stack, "", %progbits
