"""Authorization: the attributes of a request, and the rules that allow it. The only part of the server used here is the
storage.
"""
