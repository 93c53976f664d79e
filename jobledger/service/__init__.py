"""A running controller as everybody asks it: `App`, who hears of changes, and whether it is well."""
