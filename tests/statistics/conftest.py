"""The readers of tests/facts serve these tests, too."""

import sys

from bed import TOP

sys.path.append(str(TOP / "tests" / "facts"))
