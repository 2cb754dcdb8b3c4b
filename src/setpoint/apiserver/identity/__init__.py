"""Users: whom a request comes from or acts as, tokens, and reviews of both."""
