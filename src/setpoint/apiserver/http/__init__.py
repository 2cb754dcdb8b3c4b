"""HTTP for the server: sockets, streams, and who may connect."""
