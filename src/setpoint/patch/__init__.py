"""The ways to change an object: JSON patch, merge patch, strategic merge patch and server-side apply.

Each is a module of pure functions over plain JSON values::

    json_patch.apply(document, operations)
    json_diff.diff(original, modified)
    merge_patch.apply(document, patch)            merge_patch.diff(original, modified)
    strategic.apply(schema, document, patch)      strategic.diff(schema, original, modified)
    apply.apply(endpoint, live, applied, ...)     apply.update(endpoint, old, new, ...)
    initial_managed_fields.create(schema, new, ...)
"""
