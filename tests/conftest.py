"""Every pass of the lowering is verified in the tests, and in processes they start."""

import os

os.environ.setdefault("PELLUCID_VERIFY", "1")
