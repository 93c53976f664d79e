"""What is generated from the models, the settings and the metrics, and checked in; nothing at run time needs it."""
