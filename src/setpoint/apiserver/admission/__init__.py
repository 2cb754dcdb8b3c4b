"""Admission: webhooks and policies that change or refuse the objects of write requests."""
