"""What a log tells of a job: finding it by its name, its history, and why it is as it is."""
