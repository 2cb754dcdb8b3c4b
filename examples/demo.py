"""demo.py: Chronos and Mykind, end to end, on the embedded API server. No cluster needed.

    make demo                         # or: python examples/demo.py
    python examples/demo.py --ui      # it stays until Ctrl-C, with its pages

On a terminal it prints the addresses of two pages, of the cluster and of the controller, to be opened in a browser.

It shows what a controller is for: a user changes what is wanted, or breaks what is there, and the loop makes them
agree again. Each step has to converge in its time, or the demo ends with what was expected and what was there.
"""

import sys

if __name__ == "__main__":
    try:
        from demo_steps import run

        sys.exit(run(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)  # as shells expect of Ctrl-C, also while it is still being imported
