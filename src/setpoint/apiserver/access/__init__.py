"""Authorization: the attributes of a request, and the rules that allow it. Of the server, only its storage is read."""
