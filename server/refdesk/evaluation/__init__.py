"""Measuring the help centre on questions: what is found, what the gate lets through, what the whole loop answers.

Above the application: everything is asked of the very code that serves visitors.
"""
