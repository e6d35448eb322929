"""Readers of profiles, one file a format; all give a `Profile`."""
