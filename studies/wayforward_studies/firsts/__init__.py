"""Tables of the papers that first described methods, measured again where public data and facts allow."""
