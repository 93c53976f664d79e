"""The revisions. One that was released is not changed any more: a change of the tables is another."""
