"""``make crosscheck``: peers and calibrant side by side on the same inputs.

Modules of a peer have its ``CASES``: two calls, and the inputs on which their results are compared. Why
results differ is said, and checked: a comparison fails if the reason is not true, and the record of all
comparisons is out of date if a difference appears or goes away.
"""
