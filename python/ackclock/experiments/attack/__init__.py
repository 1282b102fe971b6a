"""Search for scenarios in which a congestion controller does worst; after CC-Fuzz (Ray, Seshan, HotNets 2022)."""
