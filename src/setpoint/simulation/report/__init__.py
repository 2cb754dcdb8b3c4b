"""What a search has found, as text, as a file, and as a page."""
