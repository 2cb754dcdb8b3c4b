"""The same requests to two API servers, and where their answers differ.

`conversation` sends and normalises, `scripts` and its neighbours have the requests, `recorded` is what real servers
answered.
"""
