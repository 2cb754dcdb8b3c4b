"""demo.py: Chronos and Mykind, end to end, on the embedded API server. No cluster needed.

    make demo                         # or: python examples/demo.py

It shows what a controller is for: a user changes what is wanted, or breaks what is there, and the loop makes them
agree again. Each step has to converge in its time, or the demo ends with what was expected and what was there.
"""

import sys

if __name__ == "__main__":
    try:
        from demo_steps import run

        sys.exit(run())
    except KeyboardInterrupt:
        sys.exit(130)  # as shells expect of Ctrl-C, also while it is still being imported
