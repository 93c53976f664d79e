"""Where public events go: one port, an adapter a sort of receiver. All deliver what the projection made."""
