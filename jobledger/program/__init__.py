"""What every program does: how it looks at its installation, what it writes about itself, how it ends."""
