"""The data of public events, as models: what they have in common, and a model for what each type says."""
