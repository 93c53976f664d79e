"""A job's life as a picture: phases as bands, replicas as lanes, incidents as marks, the budget as a line. Pure.

Entries of the log come in; `build` makes a `Timeline` of them, `rows` decides what gets a lane of its own, `scale`
where an instant stands, and `picture` draws SVG that needs no script to be read.
"""
