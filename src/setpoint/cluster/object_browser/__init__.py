"""Data for the pages about an embedded cluster's objects: their states and histories, and the pages themselves."""
