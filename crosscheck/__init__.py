"""``make crosscheck``: peers and calibrant side by side on the same inputs.

The module of a peer has its ``CASES``: two calls, and the inputs on which their results are compared. Each
difference has a reason, which is checked: a comparison fails if the reason is false, and the record of all
comparisons is out of date if a difference appears or disappears.
"""
