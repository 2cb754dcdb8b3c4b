"""The findings of a search, as text, as a file, and as a page."""
