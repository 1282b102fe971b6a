"""Training of agents with Stable-Baselines3, and their comparison with controllers.

It needs the packages of `ackclock[learn]`; the rest of ackclock imports this package only to train or evaluate.
"""
