"""Admission: webhooks and policies that change or refuse what a request wants to store."""
