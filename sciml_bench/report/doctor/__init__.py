"""What makes this machine noisy: readings of the system, findings from them, and the commands that cure each.

Nothing here changes a setting. Gathering is apart from judging, so that every judgement is a pure function.
"""
