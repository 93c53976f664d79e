"""The kubelet of this machine: runs pods as processes, restarts their containers, and adopts what runs already."""
