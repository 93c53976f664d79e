"""A cluster of one machine: objects in the store file, pods as processes."""

from k8s_bridge.local.cluster import LocalCluster

__all__ = ["LocalCluster"]
