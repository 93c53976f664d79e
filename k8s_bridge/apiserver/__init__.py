"""Kubernetes: the Cluster port over a real API server, and the little HTTP that it takes."""
