    """`new_draft` makes the place an answer is written to, told whether one before it failed its check; `on_tool` hears
    of every finished tool call."""
