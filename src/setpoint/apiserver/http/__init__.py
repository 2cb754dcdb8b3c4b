"""HTTP for the server: sockets, streams, and the hosts and origins that are allowed."""
