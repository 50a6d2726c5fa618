"""The doors: pages and the JSON interface. They read a request, call a service, and show what came out."""
