"""`python -m ackclock`."""

from ackclock.cli import main

main()
