"""Search that leaves nothing out: grids in order of cost, choices by integer programs, exact polish."""
