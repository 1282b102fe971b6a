"""Training agents with Stable-Baselines3, and setting them beside controllers.

Needs the packages of `ackclock[learn]`; nothing else of ackclock imports this package before it is asked to train.
"""
