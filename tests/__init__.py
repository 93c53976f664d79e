"""The tests of jobledger, a folder for each way of testing."""
