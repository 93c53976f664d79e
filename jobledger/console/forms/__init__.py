"""Forms for manifests, made from the kinds' models.

Nothing here knows a kind: `look` has names of fields that all manifests have, and asks the kind for the others.

`tree` is what a form consists of, `build` makes it from a manifest, `read` makes a manifest from what was posted.
`template` is the same for pod templates, which the models pass on as they are.
"""
