"""One network a problem that recommends to everybody: the engine of CARMA and iCARMA."""
