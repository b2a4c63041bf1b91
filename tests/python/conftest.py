# SPDX-License-Identifier: Apache-2.0
"""Tests run on every PE of a job where chorusrun started pytest; one that fails ends the job."""
import os
import sys

import pytest

import chorus

IS_PE = "CHORUS_BOOT_FD" in os.environ


@pytest.fixture(scope="session", autouse=True)
def job():
    if IS_PE:
        chorus.init(heap=os.environ.get("CHORUS_TEST_HEAP", "host"))


def pytest_sessionfinish(session, exitstatus):
    session.config.has_failed = exitstatus != 0


def pytest_unconfigure(config):
    """Once the report is written."""
    if getattr(config, "has_failed", True) and chorus.is_initialized():
        sys.stdout.flush()
        chorus.abort(1)
