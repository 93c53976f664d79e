"""What routes and pages share: sockets, guards, rights, limits, problems, streams."""
