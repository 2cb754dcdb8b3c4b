"""Authorization: the attributes of a request, and the rules that allow it. This package reads roles and bindings from
the server's storage, and does not depend on the handlers of requests.
"""
