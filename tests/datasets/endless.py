"""A reader that never comes back, for the tests of the probe."""

import sys
import time

sys.stdout.write("ready\n")
sys.stdout.flush()
time.sleep(600)
