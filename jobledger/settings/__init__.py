"""Every setting, in one frozen tree: from flags, else from `JOBLEDGER_*`, else the default.

Nobody else reads the environment. `loading.load` is called once in a process, and parts are handed down. What changes
a job's behaviour stands in its spec, not here.
"""
