"""The site of the documentation: `python -m tools.docs` builds and checks it; ``docs/`` has its pages."""
