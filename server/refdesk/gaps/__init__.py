"""The docs-gap queue at work, behind the turns: looking at them, grouping, checking again, telling a webhook."""
