# SPDX-License-Identifier: Apache-2.0
"""The version of the package, which all PEs of a job share."""
VERSION = "0.1.0"
