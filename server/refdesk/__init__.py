"""Refdesk: a help-centre assistant whose sources line is exactly true."""

__version__ = "0.1.0"
