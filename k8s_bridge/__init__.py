"""Everything that touches a cluster: the Cluster port, its adapters, and objects → observations."""
