"""Users: the sender of a request, the user as whom it is made, tokens, and reviews of these."""
