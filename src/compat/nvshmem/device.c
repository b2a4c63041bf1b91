/* SPDX-License-Identifier: Apache-2.0 */
/* device.c: for -lnvshmem_device, which programs name: calls inside kernels are in headers. */
typedef int nvshmem_device_is_in_headers;
