"""The public event contract as it was released: `make contract` compares with it, `freeze` adds a version to it.

A folder of `projectors/contract/released/` has for each type its schema and three events, with the recorded history
that they are from; `catalogue.json` has the rest of what is promised. No file in it is ever edited.
"""
