"""HTTP for the server: sockets, streams, and the allowed hosts and origins."""
