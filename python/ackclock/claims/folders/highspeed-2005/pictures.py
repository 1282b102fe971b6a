PICTURES: list = []
