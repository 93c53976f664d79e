"""Writes the page of all exhibits."""

from tests.museum.index import PAGE, page

if __name__ == "__main__":
    PAGE.write_text(page())
