"""Job objects as users see and change them, mostly pure; nothing here knows a running controller."""
