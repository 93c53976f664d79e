"""What job kinds share of their lives, a module a concern.

Each rule is a plain function (kind, state, observation) → events. A kind says which of them make its life, and in
which order (`Kind.lifecycle`): the order is the order in which facts become consequences; each rule sees the state
that the ones before it left. `asking` says how few of them are asked about one observation.
"""
