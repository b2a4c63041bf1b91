/* SPDX-License-Identifier: Apache-2.0 */
/* nvtx_tool.c: in place of a profiler, for NVTX_INJECTION64_PATH: prints the ranges it is told
 * of. */
#include <nvtx3/nvToolsExt.h>

#include <stdio.h>

static int NVTX_API push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *range)
{
    (void)domain;
    (void)fprintf(stderr, "nvtx: push %s\n", range->message.ascii);
    return 0;
}

static int NVTX_API pop(nvtxDomainHandle_t domain)
{
    (void)domain;
    (void)fprintf(stderr, "nvtx: pop\n");
    return 0;
}

__attribute__((visibility("default"))) int
InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table);
int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table)
{
    const NvtxExportTableCallbacks *const callbacks = get_table(NVTX_ETID_CALLBACKS);
    NvtxFunctionTable table;
    unsigned n;

    if (callbacks == NULL ||
        !callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &n))
        return 0;
    *table[NVTX_CBID_CORE2_DomainRangePushEx] = (NvtxFunctionPointer)push;
    *table[NVTX_CBID_CORE2_DomainRangePop] = (NvtxFunctionPointer)pop;
    return 1;
}
