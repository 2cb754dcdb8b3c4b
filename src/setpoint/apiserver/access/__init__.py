"""Authorization: the attributes of a request, and the rules that allow it. Of the rest of the server, this package uses
only the storage.
"""
