"""Public events as commands need them: of a whole log, chosen, written to a file, compared with one."""
