"""What replicas write, in windows: a tail is read by its place in the file, never the whole file.

`text` makes lines of bytes that no terminal and no page can be hurt with, `window` picks the lines, `sources` says
where bytes come from, and `follow` goes on telling what is added.
"""
