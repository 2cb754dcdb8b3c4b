"""Users: the senders of requests, the users whom they impersonate, tokens, and reviews."""
