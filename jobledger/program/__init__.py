"""What every program does: how it checks its installation, what can go wrong for its users, how it ends."""
