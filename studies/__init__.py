"""The studies of sources that `ackclock claims` judges: one folder each, found by its name."""
