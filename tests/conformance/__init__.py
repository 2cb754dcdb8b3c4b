"""The same requests to two API servers, and where their answers differ.

`talk` sends and normalises, `scripts` and its neighbours are what is said, `recorded` is what real servers answered.
"""
