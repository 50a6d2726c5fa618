"""`make bench`: wayforward beside dice-ml, NICEx and oceanpy, on the same classifiers, people and scorer."""
