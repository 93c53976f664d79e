"""What the job kinds of group `batch.tensorstack.dev` share: spec parts, the G rules, children, status.

A kind of this group is a folder beside this one: its own fields, rules, plan and launch line.

Source: spec R1-R16.
"""
