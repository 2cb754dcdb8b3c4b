"""Sphinx' settings. ``python -m tools.docs`` gives it the pages; no setting loads anything from the network."""

project = "setpoint"
html_title = "setpoint"
copyright = "The setpoint authors, Apache License 2.0"
extensions = ["myst_parser"]
root_doc = "index"
source_suffix = {".md": "markdown"}
nitpicky = True
keep_warnings = True

myst_heading_anchors = 4
myst_enable_extensions = ["attrs_inline"]
suppress_warnings = ["misc.highlighting_failure"]  # shortened examples with "..." are shown as they are

html_theme = "furo"
html_static_path = ["theme/static"]
html_css_files = ["setpoint.css"]
templates_path = ["theme/templates"]
html_copy_source = False
html_show_sphinx = False
pygments_style = "friendly"
pygments_dark_style = "monokai"
