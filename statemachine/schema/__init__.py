"""What a spec looks like: models with markers, the tables read off them, pod templates, and safe ways to look inside.

Nothing here knows a kind. Kinds are written with it; forms, documentation and manifests are read with it.
"""
